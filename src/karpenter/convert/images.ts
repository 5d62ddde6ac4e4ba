// Which image a node class boots. v1 wants it said: an alias for the family's own images, or terms that find one's own.
import { ownValue } from '#lib'
import { type Fields, stringsAt } from './fields.ts'
import type { Note } from './finding.ts'
import { imageTerms, type Term } from './selectors.ts'
import { PLACEHOLDER } from './variables.ts'

interface Images {
  readonly amiFamily?: string
  readonly amiSelectorTerms: readonly Term[]
  /** Ubuntu boots from another device than the default. */
  readonly rootDevice?: string
}

/** The older form followed every new image. v1 replaces the fleet for each, so a person chooses a version. */
const unpinned = (family: string): string => `${family}@${PLACEHOLDER}-version`

const ALIASES: Readonly<Record<string, string>> = {
  AL2023: unpinned('al2023'),
  Bottlerocket: unpinned('bottlerocket'),
  // Karpenter knows no other version of these.
  Windows2019: 'windows2019@latest',
  Windows2022: 'windows2022@latest',
  Windows2025: 'windows2025@latest',
}

const CHOOSE =
  'give --ami, for example --ami al2023@v20261102; capt explain CAPT_CONVERT_AMI says how to find the newest'

/** `terms` are given for beta classes; alpha classes have a selector. `alias` is what the person chose. */
export function readImages(spec: Fields, alias: string | undefined, note: Note, terms?: readonly Term[]): Images {
  const family = typeof spec['amiFamily'] === 'string' ? spec['amiFamily'] : undefined
  const selector = terms ? undefined : stringsAt(spec, 'amiSelector', note, 'spec.amiSelector')
  const own = terms ?? (selector ? imageTerms(selector, note, 'spec.amiSelector') : [])
  if (own.length > 0) return ownImages(family, own, note)
  if (family === 'Custom' || family === 'Ubuntu') {
    note(
      'refused',
      'CAPT_CONVERT_AMI',
      'spec.amiFamily',
      `${family} needs an image selector in v1`,
      'add amiSelector with the ids or names of your images',
    )
    return { amiSelectorTerms: [] }
  }
  const chosen = fits(alias, family) ? alias : undefined
  return { amiSelectorTerms: [{ alias: aliasOf(family, chosen, Boolean(spec['userData']), note) }] }
}

/** The chosen alias is for classes of its own family; a Bottlerocket class keeps Bottlerocket. */
function fits(alias: string | undefined, family: string | undefined): boolean {
  const chosen = alias?.split('@')[0]
  return isAl2(family) ? chosen === 'al2' || chosen === 'al2023' : chosen === family?.toLowerCase()
}

const isAl2 = (family: string | undefined): boolean => family === undefined || family === 'AL2'

function aliasOf(family: string | undefined, chosen: string | undefined, hasUserData: boolean, note: Note): string {
  const known = family && ownValue(ALIASES, family)
  if (known) {
    if (chosen === undefined && !family.startsWith('Windows'))
      note('person', 'CAPT_CONVERT_AMI', 'spec.amiFamily', `no version of ${family} was chosen`, CHOOSE)
    return chosen ?? known
  }
  if (!isAl2(family)) {
    note(
      'refused',
      'CAPT_CONVERT_AMI',
      'spec.amiFamily',
      `${family} is not an image family`,
      `one of AL2, ${Object.keys(ALIASES).join(', ')}, Custom`,
    )
    return ALIASES['AL2023']!
  }
  const alias = chosen ?? ALIASES['AL2023']!
  if (alias.startsWith('al2@')) return alias
  const meant = `${family ? 'AL2' : 'no amiFamily meant AL2'}, whose images ended on 2025-11-26 and do not exist for Kubernetes 1.33`
  if (chosen === undefined)
    note('person', 'CAPT_CONVERT_AMI', 'spec.amiFamily', `${meant}; no version of AL2023 was chosen instead`, CHOOSE)
  else note('changed', 'CAPT_CONVERT_AMI', 'spec.amiFamily', `${meant}: written as ${alias}`)
  if (hasUserData)
    note(
      'person',
      'CAPT_CONVERT_AMI',
      'spec.userData',
      'arguments for AL2 mean nothing to AL2023',
      'rewrite it as a NodeConfig',
    )
  return alias
}

function ownImages(family: string | undefined, amiSelectorTerms: readonly Term[], note: Note): Images {
  // An alias says the family itself and stands alone.
  if (amiSelectorTerms.some((term) => 'alias' in term))
    return { ...(family ? { amiFamily: family } : {}), amiSelectorTerms }
  if (family === 'Ubuntu') {
    note(
      'person',
      'CAPT_CONVERT_AMI',
      'spec.amiFamily',
      'Ubuntu is gone: written as AL2, whose bootstrap those images share',
      'check the images, or use Custom with user data of your own',
    )
    return { amiFamily: 'AL2', amiSelectorTerms, rootDevice: '/dev/sda1' }
  }
  if (family === 'Custom')
    note(
      'person',
      'CAPT_CONVERT_AMI',
      'spec.userData',
      'nodes must register with the taint karpenter.sh/unregistered:NoExecute',
      'add --register-with-taints to your bootstrap',
    )
  if (!family)
    note('changed', 'CAPT_CONVERT_AMI', 'spec.amiFamily', 'no amiFamily meant AL2: written out because v1 asks for it')
  return { amiFamily: family ?? 'AL2', amiSelectorTerms }
}
