// What core's ClusterResourceSet controller does with its sources, as data, measured on the real controller. The
// stand-in is held to it by a unit test, and the real one by the same table where it is installed.
export interface ResourceSetCase {
  readonly name: string
  readonly strategy: 'ApplyOnce' | 'Reconcile'
  /** In the namespace of the set. A source that is named in `resources` and not here does not exist. */
  readonly sources: readonly CaseSource[]
  /** References of the set; all sources in order when left out. */
  readonly resources?: readonly { readonly kind: 'ConfigMap' | 'Secret'; readonly name: string }[]
  /** In the workload cluster before the set is made. */
  readonly before?: readonly CaseObject[]
  /** A second round: the data of the first source changes to this. */
  readonly change?: Readonly<Record<string, string>>
  readonly binding: readonly CaseEntry[]
  /** `ResourcesApplied`; undefined when no condition is written at all. */
  readonly condition: { readonly status: 'True' | 'False'; readonly reason: string } | undefined
  /** What is in the workload afterwards; `gone` must not be there. */
  readonly after: readonly CaseAfter[]
}

export interface CaseSource {
  readonly kind: 'ConfigMap' | 'Secret'
  readonly name: string
  readonly type?: string
  readonly data?: Readonly<Record<string, string>>
}

/** A ConfigMap of the workload: the one kind that needs nothing else. */
interface CaseObject {
  readonly name: string
  readonly data?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
}

interface CaseAfter extends CaseObject {
  readonly gone?: boolean
}

interface CaseEntry {
  readonly name: string
  readonly applied: boolean
  readonly hash: 'ours' | 'none'
}

const SECRET_TYPE = 'addons.cluster.x-k8s.io/resource-set'
const manifest = (name: string, text = 'first') =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  namespace: default\ndata:\n  text: ${text}\n`
const source = (name: string, data: Readonly<Record<string, string>>): CaseSource => ({ kind: 'ConfigMap', name, data })
const applied = (name: string): CaseEntry => ({ name, applied: true, hash: 'ours' })
const APPLIED = { status: 'True', reason: 'Applied' } as const
const made = (name: string, text = 'first'): CaseAfter => ({ name, data: { text } })

export const RESOURCE_SET_CASES: readonly ResourceSetCase[] = [
  {
    name: 'applies what a source holds',
    strategy: 'Reconcile',
    sources: [source('one', { 'a.yaml': manifest('a') })],
    binding: [applied('one')],
    condition: APPLIED,
    after: [made('a')],
  },
  {
    name: 'applies several documents and several keys of one source',
    strategy: 'ApplyOnce',
    sources: [source('one', { 'a.yaml': `${manifest('a')}---\n${manifest('b')}`, 'c.yaml': manifest('c') })],
    binding: [applied('one')],
    condition: APPLIED,
    after: [made('a'), made('b'), made('c')],
  },
  {
    name: 'applies a Secret of the right type',
    strategy: 'Reconcile',
    sources: [{ kind: 'Secret', name: 'one', type: SECRET_TYPE, data: { 'a.yaml': manifest('a') } }],
    binding: [applied('one')],
    condition: APPLIED,
    after: [made('a')],
  },
  {
    name: 'refuses a Secret of another type',
    strategy: 'Reconcile',
    sources: [{ kind: 'Secret', name: 'one', type: 'Opaque', data: { 'a.yaml': manifest('a') } }],
    binding: [],
    condition: { status: 'False', reason: 'WrongSecretType' },
    after: [{ name: 'a', gone: true }],
  },
  {
    name: 'counts a source that does not exist as success, without an entry',
    strategy: 'Reconcile',
    sources: [source('one', { 'a.yaml': manifest('a') })],
    resources: [
      { kind: 'ConfigMap', name: 'one' },
      { kind: 'ConfigMap', name: 'missing' },
    ],
    binding: [applied('one')],
    condition: APPLIED,
    after: [made('a')],
  },
  {
    name: 'says applied when no source exists at all',
    strategy: 'Reconcile',
    sources: [],
    resources: [{ kind: 'ConfigMap', name: 'missing' }],
    binding: [],
    condition: APPLIED,
    after: [],
  },
  {
    name: 'fails on a value shorter than 32 bytes, silently but for the entry',
    strategy: 'Reconcile',
    sources: [source('one', { 'a.yaml': 'a: b\n' })],
    binding: [{ name: 'one', applied: false, hash: 'none' }],
    condition: undefined,
    after: [],
  },
  {
    name: 'fails on an empty value, and with it the whole source',
    strategy: 'Reconcile',
    sources: [source('one', { 'a.yaml': manifest('a'), 'b.yaml': '' })],
    binding: [{ name: 'one', applied: false, hash: 'none' }],
    condition: undefined,
    after: [{ name: 'a', gone: true }],
  },
  {
    name: 'takes a broken JSON list for no objects at all, and says applied',
    strategy: 'Reconcile',
    sources: [source('one', { 'a.json': '[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"' })],
    binding: [applied('one')],
    condition: APPLIED,
    after: [{ name: 'a', gone: true }],
  },
  {
    name: 'fails on a source without data, silently but for the entry',
    strategy: 'Reconcile',
    sources: [{ kind: 'ConfigMap', name: 'one' }],
    binding: [{ name: 'one', applied: false, hash: 'none' }],
    condition: undefined,
    after: [],
  },
  {
    name: 'makes a live object equal with Reconcile: finalizers, labels and keys of others go',
    strategy: 'Reconcile',
    before: [
      { name: 'a', data: { text: 'old', theirs: 'x' }, labels: { theirs: 'x' }, finalizers: ['example.com/theirs'] },
    ],
    sources: [source('one', { 'a.yaml': manifest('a') })],
    binding: [applied('one')],
    condition: APPLIED,
    after: [{ name: 'a', data: { text: 'first' }, labels: {}, finalizers: [] }],
  },
  {
    name: 'leaves a live object as it is with ApplyOnce, and says applied',
    strategy: 'ApplyOnce',
    before: [{ name: 'a', data: { text: 'old' }, labels: { theirs: 'x' } }],
    sources: [source('one', { 'a.yaml': manifest('a') })],
    binding: [applied('one')],
    condition: APPLIED,
    after: [{ name: 'a', data: { text: 'old' }, labels: { theirs: 'x' } }],
  },
  {
    name: 'applies a changed source again with Reconcile',
    strategy: 'Reconcile',
    sources: [source('one', { 'a.yaml': manifest('a') })],
    change: { 'a.yaml': manifest('a', 'second') },
    binding: [applied('one')],
    condition: APPLIED,
    after: [made('a', 'second')],
  },
  {
    name: 'ignores a changed source for ever with ApplyOnce, and keeps the hash of the first',
    strategy: 'ApplyOnce',
    sources: [source('one', { 'a.yaml': manifest('a') })],
    change: { 'a.yaml': `${manifest('a', 'second')}---\n${manifest('b')}` },
    binding: [applied('one')],
    condition: APPLIED,
    after: [made('a'), { name: 'b', gone: true }],
  },
  {
    name: 'leaves in the workload what left the source',
    strategy: 'Reconcile',
    sources: [source('one', { 'a.yaml': `${manifest('a')}---\n${manifest('b')}` })],
    change: { 'a.yaml': manifest('a', 'second') },
    binding: [applied('one')],
    condition: APPLIED,
    after: [made('a', 'second'), made('b')],
  },
  {
    name: 'tries everything when one kind is not served, and writes the hash although it failed',
    strategy: 'Reconcile',
    sources: [
      source('one', {
        'a.yaml': `apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\n  namespace: default\n---\n${manifest('a')}`,
      }),
    ],
    binding: [{ name: 'one', applied: false, hash: 'ours' }],
    condition: { status: 'False', reason: 'NotApplied' },
    after: [made('a')],
  },
]
