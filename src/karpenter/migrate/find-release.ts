// Finds, in the text of a root module, what Terraform installs of Karpenter: the releases of its two charts and the manifests of its
// pools. Also what else the text has to say about them: IAM that stays, references that would break, providers without use. Pure.
import { type Block, scanHcl } from '#engine'
import { CaptError } from '#lib'

/** Text of each file of a root module, by its name. */
export type ModuleFiles = Readonly<Record<string, string>>

interface Place {
  readonly file: string
  readonly line: number
}

export interface FoundBlock extends Place {
  readonly address: string
  readonly block: Block
}

interface FoundRelease extends FoundBlock {
  readonly chart: 'karpenter' | 'karpenter-crd'
  /** Undefined where the text has an expression. */
  readonly name: string | undefined
  readonly namespace: string | undefined
  readonly version: string | undefined
}

export interface FoundKarpenter {
  readonly releases: readonly FoundRelease[]
  /** Pools, node classes and other objects of Karpenter's. */
  readonly manifests: readonly FoundBlock[]
  /** Addresses that a `removed` block with `destroy = false` names already. */
  readonly forgotten: readonly string[]
  /** Addresses of roles, policies and the like. They are kept. */
  readonly iam: readonly string[]
  /** Providers that nothing uses once releases and manifests are gone. */
  readonly idleProviders: readonly string[]
}

const MANIFEST_TYPES = ['kubectl_manifest', 'kubernetes_manifest']
const KARPENTER_API = /\bkarpenter\.(sh|k8s\.aws)\/v1/

/** `named`: addresses that a person says are releases of Karpenter. */
export function findKarpenter(files: ModuleFiles, named: readonly string[] = []): FoundKarpenter {
  const all = Object.entries(files).flatMap(([file, text]) => toBlocks(file, text))
  const resources = all.filter(({ block }) => block.type === 'resource' && block.labels.length === 2)
  const releases = resources.flatMap((found) => toRelease(found, named))
  const absent = named.find((address) => !resources.some((found) => found.address === address))
  if (absent !== undefined && !forgottenIn(all).includes(absent))
    throw new CaptError('CAPT_MIGRATE_NO_RELEASE', `there is no resource ${absent} in the configuration`, {
      hint: 'name a resource block of the root module: --release helm_release.karpenter',
    })
  const manifests = resources.filter(
    ({ block, text }) => MANIFEST_TYPES.includes(block.labels[0]!) && KARPENTER_API.test(text),
  )
  const gone = new Set([...releases, ...manifests].map(({ address }) => address))
  refuseReferences(all, gone)
  return {
    releases,
    manifests: manifests.map(({ text: _, ...found }) => found),
    forgotten: forgottenIn(all),
    iam: resources.filter(({ block }) => isIam(block.labels[0]!)).map(({ address }) => address),
    idleProviders: idleProviders(all, gone),
  }
}

export const isIam = (type: string): boolean => /^aws_(iam_|eks_pod_identity_association$)/.test(type)

interface BlockText extends FoundBlock {
  /** Source without comments. */
  readonly text: string
}

function toBlocks(file: string, source: string): readonly BlockText[] {
  const { blocks, comments } = scanHcl(source)
  const text = comments.reduce(
    (rest, { start, end }) => rest.slice(0, start) + rest.slice(start, end).replace(/[^\n]/g, ' ') + rest.slice(end),
    source,
  )
  return blocks.map((block) => ({
    file,
    line: lineOf(source, block.start),
    address: block.labels.join('.'),
    block,
    text: text.slice(block.start, block.end),
  }))
}

const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length

function toRelease({ text: _, ...found }: BlockText, named: readonly string[]): readonly FoundRelease[] {
  const { attributes, labels } = found.block
  const [type, label = ''] = labels
  const isNamed = named.includes(found.address)
  if (type !== 'helm_release' && !isNamed) return []
  const chart = literal(attributes['chart'])?.split('/').at(-1)
  const isGuessed = chart === undefined && /karpenter/i.test(`${label} ${attributes['repository'] ?? ''}`)
  if (!isNamed && !isGuessed && chart !== 'karpenter' && chart !== 'karpenter-crd') return []
  return [
    {
      ...found,
      chart: chart === 'karpenter-crd' || (chart === undefined && /crd/i.test(label)) ? 'karpenter-crd' : 'karpenter',
      name: literal(attributes['name']),
      // What the provider takes when it is left out.
      namespace: attributes['namespace'] === undefined ? 'default' : literal(attributes['namespace']),
      version: literal(attributes['version']),
    },
  ]
}

/** The value of a quoted string without expressions. */
export function literal(source: string | undefined): string | undefined {
  return /^"((?:[^"\\$%]|[$%](?!\{))*)"\s*(?:#.*|\/\/.*|\/\*.*)?$/.exec(source ?? '')?.[1]
}

function forgottenIn(all: readonly BlockText[]): readonly string[] {
  return all.flatMap(({ block, text }) => {
    const isForgetting = block.type === 'removed' && /\bdestroy\s*=\s*false\b/.test(text)
    const from = /^[\w.-]+/.exec(block.attributes['from'] ?? '')?.[0]
    return isForgetting && from !== undefined ? [from] : []
  })
}

/** A reference to a resource that is no longer declared is an error of Terraform's; which text is to change is a person's choice. */
function refuseReferences(all: readonly BlockText[], gone: ReadonlySet<string>): void {
  const broken = all.flatMap((found) => {
    if (gone.has(found.address) && found.block.type === 'resource') return []
    return [...gone].flatMap((address) => {
      const at = new RegExp(`(?<![\\w.-])${address.replaceAll('.', '\\.')}(?![\\w-])`).exec(found.text)?.index
      if (at === undefined || found.block.type === 'removed') return []
      const line = found.line + found.text.slice(0, at).split('\n').length - 1
      return [`${[found.block.type, ...found.block.labels].join(' ')} (${found.file}, line ${line}) uses ${address}`]
    })
  })
  if (broken.length === 0) return
  throw new CaptError(
    'CAPT_MIGRATE_REFERENCED',
    `what is to leave the configuration is used in it: ${broken.join('; ')}`,
    {
      hint: 'remove these references first; nothing was changed',
    },
  )
}

function idleProviders(all: readonly BlockText[], gone: ReadonlySet<string>): readonly string[] {
  const providerOf = (type: string) => type.split('_')[0]!
  const used = new Set(
    all
      .filter(
        ({ block, address }) =>
          ['resource', 'data'].includes(block.type) && !(block.type === 'resource' && gone.has(address)),
      )
      .map(({ block }) => providerOf(block.labels[0] ?? '')),
  )
  const left = new Set([...gone].map(providerOf))
  return all
    .filter(({ block }) => block.type === 'provider')
    .map(({ address }) => address)
    .filter((name, index, names) => left.has(name) && !used.has(name) && names.indexOf(name) === index)
}
