// The stand-in for core's ClusterResourceSet controller, in the embedded home alone. It keeps core's semantics, the
// awkward ones too, so that what works here works there.
import { type AnyObject, CLUSTER_NAME_LABEL, type ClusterFacts, clusterKind, clusterResourceSetKind, type ConfigMap, ConfigMapKind, type Condition, type Key, keyOf, PAUSED_ANNOTATION, readCluster, type Secret, SecretKind } from '#api'
import { type Cache, isKubeError, type Objects, type Projected } from '#kube'
import { CaptError, isCaptError, keyedHash, messageOf, redact, toTimestamp } from '#lib'
import { act, addFinalizer, type ConditionDraft, conditionOf, type Controller, type Decision, done, hasFinalizer, ownerReference, removeFinalizer, waiting, withOwner, type World } from '#runtime'
import { applyObjects, type Strategy } from './resource-set-apply.ts'
import { type Binding, BindingKind, findEntry, newBinding, withEntry, withoutSet } from './resource-set-binding.ts'
import { parseSource } from './resource-set-parse.ts'

/** Opens the workload cluster of a Cluster; throws when it cannot be reached. */
export interface RemoteClusters {
  connect(cluster: Key): Promise<Objects>
}

export const SET_FINALIZER = 'addons.cluster.x-k8s.io'
export const SetKind = clusterResourceSetKind('v1beta2')
const SECRET_TYPE = 'addons.cluster.x-k8s.io/resource-set'

export interface ResourceSet extends AnyObject {
  readonly spec: {
    readonly clusterSelector: {
      readonly matchLabels?: Readonly<Record<string, string>>
      readonly matchExpressions?: readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] }[]
    }
    readonly resources?: readonly { readonly kind: 'ConfigMap' | 'Secret'; readonly name: string }[]
    readonly strategy?: Strategy
  }
  readonly status?: { readonly conditions?: readonly Condition[]; readonly deprecated?: { readonly v1beta1?: { readonly conditions?: readonly OldCondition[] } } }
}

interface OldCondition {
  readonly type: string
  readonly status: string
  readonly severity?: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime: string
}

export interface Source {
  readonly ref: { readonly kind: 'ConfigMap' | 'Secret'; readonly name: string }
  readonly live: (ConfigMap & Secret) | undefined
  readonly isWrongType: boolean
  /** Undefined when the object has no data field. */
  readonly values: Readonly<Record<string, string>> | undefined
  readonly hash: string | undefined
}

export interface SetSeen {
  readonly set: Projected<ResourceSet>
  readonly clusters: readonly ClusterFacts[]
  readonly sources: readonly Source[]
  readonly bindings: ReadonlyMap<string, Projected<Binding>>
  readonly nowMs: number
  /** What applying came to; filled in by the act of this turn, read by its report. */
  readonly outcome: { draft?: ConditionDraft; old?: Pick<OldCondition, 'reason' | 'severity' | 'message'> }
}

export type SetAction = { readonly do: 'add-finalizer' } | { readonly do: 'clean-up' } | { readonly do: 'apply'; readonly clusters: readonly ClusterFacts[] }

export function resourceSetController(remotes: RemoteClusters): Controller<ResourceSet, SetSeen, SetAction> {
  return {
    name: 'clusterresourceset',
    kind: SetKind,
    summary: false,
    wakes: [
      { kind: clusterKind('v1beta2'), toKeys: (cluster, cache) => matching(cache, cluster) },
      { kind: ConfigMapKind, toKeys: (object, cache) => carrying(cache, object, 'ConfigMap') },
      { kind: SecretKind, toKeys: (object, cache) => [...carrying(cache, object, 'Secret'), ...kubeconfigOf(cache, object)] },
      { kind: BindingKind, toKeys: (binding, cache) => ofCluster(cache, { namespace: binding.metadata.namespace!, name: binding.metadata.name }) },
    ],
    observe,
    decide,
    act: (world, seen, action) => actOn(world, seen, action, remotes),
    status: (seen) => report(seen),
  }
}

function matching(cache: Cache, cluster: AnyObject): readonly Key[] {
  const facts = readCluster(cluster)
  return cache
    .list<ResourceSet>(SetKind, { namespace: facts.namespace })
    .filter((set) => isSelected(set.spec.clusterSelector, facts.labels))
    .map(keyOf)
}

function carrying(cache: Cache, object: AnyObject, kind: string): readonly Key[] {
  return cache
    .list<ResourceSet>(SetKind, { namespace: object.metadata.namespace! })
    .filter((set) => set.spec.resources?.some((ref) => ref.kind === kind && ref.name === object.metadata.name))
    .map(keyOf)
}

/** A kubeconfig that appears is the moment at which a cluster can be reached. */
function kubeconfigOf(cache: Cache, secret: AnyObject): readonly Key[] {
  const name = secret.metadata.labels?.[CLUSTER_NAME_LABEL]
  if (!name || secret.metadata.name !== `${name}-kubeconfig`) return []
  return ofCluster(cache, { namespace: secret.metadata.namespace!, name })
}

function ofCluster(cache: Cache, key: Key): readonly Key[] {
  const cluster = cache.get(clusterKind('v1beta2'), key)
  return cluster ? matching(cache, cluster) : []
}

export function isSelected(selector: ResourceSet['spec']['clusterSelector'], labels: Readonly<Record<string, string>>): boolean {
  const exact = Object.entries(selector.matchLabels ?? {})
  const expressions = selector.matchExpressions ?? []
  if (exact.length === 0 && expressions.length === 0) return false
  return (
    exact.every(([key, value]) => labels[key] === value) &&
    expressions.every(({ key, operator, values = [] }) => {
      const value = labels[key]
      if (operator === 'In') return value !== undefined && values.includes(value)
      if (operator === 'NotIn') return value === undefined || !values.includes(value)
      return operator === 'Exists' ? value !== undefined : value === undefined
    })
  )
}

async function observe(world: World, set: Projected<ResourceSet>): Promise<SetSeen> {
  const { cache, objects, clock } = world
  const namespace = set.metadata.namespace!
  const clusters = cache
    .list(clusterKind('v1beta2'), { namespace })
    .map(readCluster)
    .filter((cluster) => !cluster.deleting && isSelected(set.spec.clusterSelector, cluster.labels))
  const isNeeded = clusters.length > 0 && !set.metadata.deletionTimestamp
  const sources = isNeeded ? await Promise.all((set.spec.resources ?? []).map((ref) => readSource(objects, namespace, ref))) : []
  const bindings = new Map<string, Projected<Binding>>()
  for (const cluster of clusters) {
    const binding = cache.get<Binding>(BindingKind, { namespace, name: cluster.name })
    if (binding) bindings.set(cluster.name, binding)
  }
  return { set, clusters, sources, bindings, nowMs: clock.now(), outcome: {} }
}

async function readSource(objects: Objects, namespace: string, ref: Source['ref']): Promise<Source> {
  const live = await objects.get<ConfigMap & Secret>(ref.kind === 'Secret' ? SecretKind : ConfigMapKind, { namespace, name: ref.name })
  const isWrongType = ref.kind === 'Secret' && live !== undefined && live.type !== SECRET_TYPE
  const data = live?.data
  if (!data || Object.keys(data).length === 0) return { ref, live, isWrongType, values: undefined, hash: undefined }
  const decoded = Object.entries(data).map(([key, value]) => [key, ref.kind === 'Secret' ? Buffer.from(value, 'base64').toString('utf8') : value] as const)
  const values = Object.fromEntries(decoded)
  return { ref, live, isWrongType, values, hash: keyedHash(values) }
}

export function decide(seen: SetSeen): Decision<SetAction> {
  const { set } = seen
  if (set.metadata.deletionTimestamp) return hasFinalizer(set, SET_FINALIZER) ? act<SetAction>({ do: 'clean-up' }) : done
  if (PAUSED_ANNOTATION in (set.metadata.annotations ?? {})) return done
  if (!hasFinalizer(set, SET_FINALIZER)) return act<SetAction>({ do: 'add-finalizer' })
  const open = seen.clusters.filter((cluster) => needsWork(seen, cluster))
  const reachable = open.filter((cluster) => cluster.infrastructureProvisioned)
  if (reachable.length > 0) return act<SetAction>({ do: 'apply', clusters: reachable })
  if (open.length > 0) return waiting('InfrastructureNotProvisioned', `Waiting for ${open.map((cluster) => cluster.name).join(', ')}`)
  return done
}

function needsWork(seen: SetSeen, cluster: ClusterFacts): boolean {
  const binding = seen.bindings.get(cluster.name)
  // The first pass leaves a binding and a condition, even when there was nothing to apply.
  if (!binding || conditionOf(seen.set, 'ResourcesApplied') === undefined) return seen.sources.length > 0
  return seen.sources.some((source) => {
    if (source.isWrongType) return true
    if (!source.live) return false
    return needsApply(seen, binding, source) || !isOwned(source.live, seen.set)
  })
}

const isOwned = (object: AnyObject, owner: AnyObject) => object.metadata.ownerReferences?.some((one) => one.uid === owner.metadata.uid) ?? false

export function needsApply({ set }: Pick<SetSeen, 'set'>, binding: Binding | undefined, source: Source): boolean {
  const entry = findEntry(binding, set.metadata.name, source.ref)
  if (!entry?.applied) return true
  return (set.spec.strategy ?? 'ApplyOnce') === 'Reconcile' && entry.hash !== source.hash
}

async function actOn(world: World, seen: SetSeen, action: SetAction, remotes: RemoteClusters): Promise<void> {
  if (action.do !== 'apply') {
    if (action.do === 'clean-up') return await cleanUp(world, seen)
    return await addFinalizer(world.objects, SetKind, seen.set, SET_FINALIZER)
  }
  const faults: string[] = []
  for (const cluster of action.clusters) faults.push(...(await applyTo(world, seen, cluster, remotes)))
  if (faults.length > 0) throw new CaptError('CAPT_RESOURCE_SET_FAILED', faults.join('; '), { hint: 'Look at the ClusterResourceSetBinding of the Cluster' })
}

/** Matching clusters only, as in core: an entry of a Cluster that lost its label stays behind. */
async function cleanUp({ objects }: World, { set, bindings }: SetSeen): Promise<void> {
  for (const binding of bindings.values()) {
    const left = withoutSet(binding.spec.bindings, set.metadata.name)
    const ownerReferences = (binding.metadata.ownerReferences ?? []).filter((one) => one.uid !== set.metadata.uid)
    if (left.length === 0) await objects.delete(BindingKind, keyOf(binding))
    else await objects.patch(BindingKind, keyOf(binding), { type: 'merge', body: { metadata: { resourceVersion: binding.metadata.resourceVersion, ownerReferences }, spec: { bindings: left } } })
  }
  await removeFinalizer(objects, SetKind, set, SET_FINALIZER)
}

async function applyTo(world: World, seen: SetSeen, cluster: ClusterFacts, remotes: RemoteClusters): Promise<readonly string[]> {
  const { set, outcome } = seen
  const name = set.metadata.name
  const owner = ownerReference(set)
  await ownSources(world, seen)
  const binding = await ensureBinding(world, seen, cluster)
  let remote: Objects
  try {
    remote = await remotes.connect({ namespace: cluster.namespace, name: cluster.name })
  } catch (error) {
    const message = redact(messageOf(error))
    outcome.draft = condition('False', 'InternalError', 'Please check controller logs for errors')
    outcome.old = { reason: 'RemoteClusterClientFailed', severity: 'Error', message }
    return [message]
  }
  const faults: string[] = []
  let { bindings } = binding.spec
  for (const source of seen.sources) {
    if (source.isWrongType) {
      outcome.draft = condition('False', 'WrongSecretType', `Secret ${source.ref.name} is not of type ${SECRET_TYPE}`)
      outcome.old = { reason: 'WrongSecretType', severity: 'Warning', message: 'unsupported secret type' }
      faults.push(`Secret ${source.ref.name}: unsupported type`)
      continue
    }
    if (!source.live || !needsApply(seen, binding, source)) continue
    const entry = { ...source.ref, applied: false, lastAppliedTime: toTimestamp(seen.nowMs) }
    try {
      if (!source.values) throw new CaptError('CAPT_RESOURCE_SET_PARSE', 'failed to get data field from the resource')
      const problems = await applyObjects(remote, parseSource(source.values), set.spec.strategy ?? 'ApplyOnce')
      bindings = withEntry(bindings, name, { ...entry, applied: problems.length === 0, hash: source.hash! })
      if (problems.length === 0) continue
      outcome.draft = condition('False', 'NotApplied', 'Failed to apply ClusterResourceSet resources to Cluster')
      outcome.old = { reason: 'ApplyFailed', severity: 'Warning', message: redact(problems.join('; ')) }
      faults.push(...problems)
    } catch (error) {
      // A source that cannot be read leaves the condition as it was.
      if (!isCaptError(error) || isKubeError(error)) throw error
      bindings = withEntry(bindings, name, { ...entry, hash: '' })
      faults.push(`${source.ref.kind} ${source.ref.name}: ${error.message}`)
    }
  }
  if (bindings !== binding.spec.bindings) {
    const body = { metadata: { resourceVersion: binding.metadata.resourceVersion, ownerReferences: withOwner(binding.metadata.ownerReferences, owner) }, spec: { bindings } }
    await world.objects.patch(BindingKind, keyOf(binding), { type: 'merge', body })
  }
  if (faults.length === 0) {
    outcome.draft = condition('True', 'Applied', '')
    outcome.old = {}
  }
  return faults
}

/** Core owns its sources; deleting the set takes those that nobody else owns. */
async function ownSources(world: World, { set, sources }: SetSeen): Promise<void> {
  for (const { live, ref } of sources) {
    if (!live || isOwned(live, set)) continue
    const ownerReferences = withOwner(live.metadata.ownerReferences, ownerReference(set))
    const body = { metadata: { resourceVersion: live.metadata.resourceVersion, ownerReferences } }
    await world.objects.patch(ref.kind === 'Secret' ? SecretKind : ConfigMapKind, keyOf(live), { type: 'merge', body })
  }
}

async function ensureBinding(world: World, { set }: SetSeen, cluster: ClusterFacts): Promise<Binding> {
  const key = { namespace: cluster.namespace, name: cluster.name }
  const live = await world.objects.get<Binding>(BindingKind, key)
  return live ?? (await world.objects.create<Binding>(BindingKind, newBinding(cluster, ownerReference(set))))
}

const condition = (status: ConditionDraft['status'], reason: string, message: string): ConditionDraft => ({ type: 'ResourcesApplied', status, reason, message })

/** One condition for all clusters: the last one wins, as in core. Nothing is written when nothing was tried. */
function report({ set, outcome, nowMs, clusters }: SetSeen) {
  const { generation } = set.metadata
  const paused: ConditionDraft = PAUSED_ANNOTATION in (set.metadata.annotations ?? {})
    ? { type: 'Paused', status: 'True', reason: 'Paused', message: `ClusterResourceSet has the ${PAUSED_ANNOTATION} annotation` }
    : { type: 'Paused', status: 'False', reason: 'NotPaused', message: '' }
  const conditions = outcome.draft ? [outcome.draft, paused] : [paused]
  const fields: Record<string, unknown> = { observedGeneration: generation }
  if (outcome.draft && outcome.old && clusters.length > 0) {
    const previous = set.status?.deprecated?.v1beta1?.conditions?.find((one) => one.type === 'ResourcesApplied')
    const { status } = outcome.draft
    const lastTransitionTime = previous?.status === status ? previous.lastTransitionTime : toTimestamp(nowMs)
    fields['deprecated'] = { v1beta1: { conditions: [{ type: 'ResourcesApplied', status, ...outcome.old, lastTransitionTime }] } }
  }
  return { fields, conditions }
}
