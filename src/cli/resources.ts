// The words people use for kinds and objects: singular, plural, short names, any case; `KIND NAME...` and `KIND/NAME`.
import { ALL_KINDS, clusterKind, clusterResourceSetKind, type KindRef, WorkspaceTemplateApply } from '#api'
import { type Server, servedKind } from '#kube'
import { CaptError, ownValue } from '#lib'

const EXTRA_WORDS: Readonly<Record<string, string>> = {
  cl: 'clusters',
  crs: 'clusterresourcesets',
  applies: 'workspacetemplateapplies',
}

const FOREIGN = [
  { words: ['cluster', 'clusters'], make: clusterKind },
  { words: ['clusterresourceset', 'clusterresourcesets'], make: clusterResourceSetKind },
] as const

/** The kind a word means, also with its group behind it. Cluster API kinds are in the version that the server serves. */
export async function findKind(word: string, server: Server): Promise<KindRef> {
  const [first = '', ...group] = word.toLowerCase().split('.')
  const wanted = ownValue(EXTRA_WORDS, first) ?? first
  const isIn = (one: KindRef) => group.length === 0 || group.join('.') === one.group
  const ours = ALL_KINDS.find(
    (one) => isIn(one) && [one.plural, one.singular, ...(one.shortNames ?? [])].includes(wanted),
  )
  if (ours) return ours
  for (const { words, make } of FOREIGN)
    if (words.some((known) => known === wanted) && isIn(make('v1beta2'))) return servedKind(server, make)
  throw new CaptError('CAPT_USAGE', `capt does not know the kind "${word}"`, {
    hint: `one of: ${kindWords().join(', ')}; kubectl shows all others`,
  })
}

/** Every kind with its short names, as hints and the completion show them. */
export function kindWords(): readonly string[] {
  return [
    'clusters',
    ...ALL_KINDS.map(({ plural, shortNames }) => [plural, ...(shortNames ?? [])].join('/')),
    'clusterresourcesets/crs',
    'runs',
  ]
}

/** Objects of one kind: those of these names, or all of them when there is none. */
interface Selection {
  readonly word: string
  readonly names: readonly string[]
}

/** `KIND`, `KIND,KIND`, `KIND NAME...` or `KIND/NAME...`; a name that is repeated counts once. */
export function selectionsOf(words: readonly string[], command: string): readonly Selection[] {
  const pairs = words.filter((word) => word.includes('/'))
  if (pairs.length === 0) {
    const [kinds = '', ...names] = words
    const list = kinds.split(',').filter((kind) => kind !== '')
    return [...new Set(list)].map((word) => ({ word, names: [...new Set(names)] }))
  }
  const wrong = words.find((word) => !/^[^/]+\/[^/]+$/.test(word))
  if (wrong !== undefined)
    throw new CaptError('CAPT_USAGE', `"${wrong}" is not KIND/NAME`, {
      hint: `write KIND NAME... or KIND/NAME...: capt ${command} wtapply/demo-vpc`,
    })
  const found = new Map<string, Set<string>>()
  for (const pair of pairs) {
    const [word = '', name = ''] = pair.split('/')
    found.set(word, (found.get(word) ?? new Set()).add(name))
  }
  return [...found].map(([word, names]) => ({ word, names: [...names] }))
}

/** The name of an apply out of `NAME` or `KIND/NAME`. */
export function applyNameOf(word: string, command: string): string {
  if (!word.includes('/')) return word
  const [{ word: kind, names }] = selectionsOf([word], command) as [Selection]
  const { plural, singular, shortNames = [], group } = WorkspaceTemplateApply
  const words = [plural, singular, ...shortNames, 'applies'].flatMap((known) => [known, `${known}.${group}`])
  if (words.includes(kind.toLowerCase())) return names[0]!
  throw new CaptError('CAPT_USAGE', `${command} works on a WorkspaceTemplateApply, not on "${kind}"`, {
    hint: `capt ${command} NAME; capt get wtapply lists the names`,
  })
}
