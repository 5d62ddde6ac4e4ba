// Applies sources to one workload cluster and writes down what came of it, in the order and with the words of core.
import { type ClusterFacts, ConfigMapKind, type Key, keyOf, SecretKind } from '#api'
import { isKubeError, type Objects } from '#kube'
import { CaptError, isCaptError, messageOf, redact, toTimestamp } from '#lib'
import { isOwnedBy, ownerReference, removeFinalizer, type World, withOwner } from '#runtime'
import { draft } from '../condition.ts'
import { applyObjects } from './apply.ts'
import { type Binding, BindingKind, newBinding, withAttempt, withoutSet } from './binding.ts'
import { needsApply, type ObservedSet, SECRET_TYPE, SET_FINALIZER, SetKind } from './observe.ts'
import { parseSource } from './parse.ts'

const TYPE = 'ResourcesApplied'

/** Opens the workload cluster of a Cluster; throws when it cannot be reached. */
export interface RemoteClusters {
  connect(cluster: Key): Promise<Objects>
}

/** Matching clusters only, as in core: an entry of a Cluster that lost its label stays behind. */
export async function cleanUp({ objects }: World, { set, bindings }: ObservedSet): Promise<void> {
  for (const binding of bindings.values()) {
    const left = withoutSet(binding.spec.bindings, set.metadata.name)
    const ownerReferences = (binding.metadata.ownerReferences ?? []).filter((one) => one.uid !== set.metadata.uid)
    if (left.length === 0) await objects.delete(BindingKind, keyOf(binding))
    else
      await objects.patch(BindingKind, keyOf(binding), {
        type: 'merge',
        body: {
          metadata: { resourceVersion: binding.metadata.resourceVersion, ownerReferences },
          spec: { bindings: left },
        },
      })
  }
  await removeFinalizer(objects, SetKind, set, SET_FINALIZER)
}

export async function applyTo(
  world: World,
  observed: ObservedSet,
  cluster: ClusterFacts,
  remotes: RemoteClusters,
): Promise<readonly string[]> {
  const { set, outcome } = observed
  const name = set.metadata.name
  const owner = ownerReference(set)
  const binding = await ensureBinding(world, observed, cluster)
  let remote: Objects
  try {
    remote = await remotes.connect({ namespace: cluster.namespace, name: cluster.name })
  } catch (error) {
    const message = redact(messageOf(error))
    outcome.draft = draft(TYPE, 'False', 'InternalError', 'Please check controller logs for errors')
    outcome.old = { reason: 'RemoteClusterClientFailed', severity: 'Error', message }
    return [message]
  }
  const faults: string[] = []
  let { bindings } = binding.spec
  for (const source of observed.sources) {
    if (source.isWrongType) {
      outcome.draft = draft(TYPE, 'False', 'WrongSecretType', `Secret ${source.ref.name} is not of type ${SECRET_TYPE}`)
      outcome.old = { reason: 'WrongSecretType', severity: 'Warning', message: 'unsupported secret type' }
      faults.push(`Secret ${source.ref.name}: unsupported type`)
      continue
    }
    if (!source.live || !needsApply(observed, binding, source)) continue
    const entry = { ...source.ref, applied: false, lastAppliedTime: toTimestamp(observed.nowMs) }
    try {
      if (!source.values) throw new CaptError('CAPT_RESOURCE_SET_PARSE', 'failed to get data field from the resource')
      const problems = await applyObjects(remote, parseSource(source.values), set.spec.strategy ?? 'ApplyOnce')
      bindings = withAttempt(bindings, name, { ...entry, applied: problems.length === 0, hash: source.hash! })
      if (problems.length === 0) continue
      outcome.draft = draft(TYPE, 'False', 'NotApplied', 'Failed to apply ClusterResourceSet resources to Cluster')
      outcome.old = { reason: 'ApplyFailed', severity: 'Warning', message: redact(problems.join('; ')) }
      faults.push(...problems)
    } catch (error) {
      // A source that cannot be read leaves the condition as it was.
      if (!isCaptError(error) || isKubeError(error)) throw error
      bindings = withAttempt(bindings, name, { ...entry, hash: '' })
      faults.push(`${source.ref.kind} ${source.ref.name}: ${error.message}`)
    }
  }
  if (bindings !== binding.spec.bindings) {
    const body = {
      metadata: {
        resourceVersion: binding.metadata.resourceVersion,
        ownerReferences: withOwner(binding.metadata.ownerReferences, owner),
      },
      spec: { bindings },
    }
    await world.objects.patch(BindingKind, keyOf(binding), { type: 'merge', body })
  }
  if (faults.length === 0) {
    outcome.draft = draft(TYPE, 'True', 'Applied')
    outcome.old = {}
  }
  return faults
}

/** Core owns its sources; deleting the set takes those that nobody else owns. */
export async function ownSources(world: World, { set, sources }: ObservedSet): Promise<void> {
  for (const { live, ref } of sources) {
    if (!live || isOwnedBy(live, set)) continue
    const ownerReferences = withOwner(live.metadata.ownerReferences, ownerReference(set))
    const body = { metadata: { resourceVersion: live.metadata.resourceVersion, ownerReferences } }
    await world.objects.patch(ref.kind === 'Secret' ? SecretKind : ConfigMapKind, keyOf(live), { type: 'merge', body })
  }
}

async function ensureBinding(world: World, { set }: ObservedSet, cluster: ClusterFacts): Promise<Binding> {
  const key = { namespace: cluster.namespace, name: cluster.name }
  const live = await world.objects.get<Binding>(BindingKind, key)
  return live ?? (await world.objects.create<Binding>(BindingKind, newBinding(cluster, ownerReference(set))))
}
