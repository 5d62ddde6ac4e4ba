// Decides whether a migration may go on: by the version of the tool, by the release, and by what Terraform plans. Pure.

import { isAtLeast } from '#catalog'
import { CaptError } from '#lib'
import { isIam } from './find-release.ts'
import type { ReleaseFacts } from './read-state.ts'

/** `removed` with `destroy = false`: Terraform has it from 1.7; OpenTofu took the block `lifecycle` in it with 1.10. */
const MINIMUM = { terraform: '1.7.0', tofu: '1.10.0' } as const

/** `tool`: as a run record has it, `terraform 1.11.4`. */
export function refuseTool(tool: string): CaptError | undefined {
  const [name, version = ''] = tool.split(' ')
  if (name !== 'terraform' && name !== 'tofu') return undefined
  if (/^\d+\.\d+\.\d+/.test(version) && isAtLeast(version.replace(/[-+].*$/, ''), MINIMUM[name])) return undefined
  return new CaptError('CAPT_MIGRATE_TOOL', `${tool} does not know removed blocks with destroy = false`, {
    hint: `install ${name} ${MINIMUM[name]} or newer where runs happen; without such a block the release would be uninstalled`,
  })
}

/** helm-controller adopts a release by its name and namespace; one of another name would be a second installation. */
export function refuseRelease({ name, address }: Pick<ReleaseFacts, 'name' | 'address'>): CaptError | undefined {
  if (name === undefined || name === 'karpenter') return undefined
  return new CaptError(
    'CAPT_MIGRATE_RELEASE_NAME',
    `${address} is the Helm release ${name}; capt delivers the release karpenter`,
    {
      hint: 'Helm cannot rename a release: keep it in Terraform, or deliver it with a stage of resources that has your own HelmRelease',
    },
  )
}

interface Change {
  readonly address: string
  readonly action: string
}

interface Verdict {
  /** Resources that Terraform forgets without touching them. */
  readonly forgotten: readonly string[]
  /** Changes that have nothing to do with the migration; a run makes them too. */
  readonly others: readonly Change[]
}

const typeOf = (address: string): string =>
  address
    .replace(/\[[^\]]*\]/g, '')
    .split('.')
    .at(-2) ?? ''

/** Throws where a run would destroy anything or change IAM. */
export function decideOnChanges(changes: readonly Change[]): Verdict {
  const forgotten = changes.filter(({ action }) => action === 'forget' || action === 'remove')
  const rest = changes.filter((change) => !forgotten.includes(change))
  const destroyed = rest.filter(({ action }) => action === 'delete' || action === 'replace')
  const iam = rest.filter(({ address }) => isIam(typeOf(address)))
  const list = (all: readonly Change[]) => all.map(({ action, address }) => `${action} ${address}`).join(', ')
  if (destroyed.length > 0)
    throw new CaptError('CAPT_MIGRATE_DESTROYS', `Terraform would destroy: ${list(destroyed)}`, {
      hint: 'bring configuration and infrastructure together first (capt plan); nothing was changed',
    })
  if (iam.length > 0)
    throw new CaptError('CAPT_MIGRATE_IAM', `Terraform would change IAM: ${list(iam)}`, {
      hint: 'the running controller depends on it: apply or undo these changes first (capt plan); nothing was changed',
    })
  return { forgotten: forgotten.map(({ address }) => address), others: rest }
}
