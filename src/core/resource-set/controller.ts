// The stand-in for core's ClusterResourceSet controller, in the embedded home alone. It keeps core's semantics, the
// awkward ones too, so that what works here works there.
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type ClusterFacts,
  ConfigMapKind,
  clusterKind,
  conditionOf,
  type Key,
  keyOf,
  pauseOf,
  readCluster,
  SecretKind,
} from '#api'
import type { Cache } from '#kube'
import { CaptError, toTimestamp } from '#lib'
import {
  act,
  addFinalizer,
  type Controller,
  type Decision,
  done,
  doneFor,
  hasFinalizer,
  isOwnedBy,
  type StatusReport,
  type World,
  waiting,
} from '#runtime'
import { draft } from '../condition.ts'
import { asksForNothing, type Binding, BindingKind } from './binding.ts'
import {
  isSelected,
  needsApply,
  type ObservedSet,
  observeSet,
  type ResourceSet,
  SET_FINALIZER,
  SetKind,
  type Source,
} from './observe.ts'
import { applyTo, cleanUp, ownSources, type RemoteClusters } from './write.ts'

type SetAction =
  | { readonly do: 'add-finalizer' }
  | { readonly do: 'clean-up' }
  | { readonly do: 'apply'; readonly clusters: readonly ClusterFacts[] }

export function resourceSetController(remotes: RemoteClusters): Controller<ResourceSet, ObservedSet, SetAction> {
  return {
    name: 'clusterresourceset',
    kind: SetKind,
    summary: false,
    wakes: [
      { kind: clusterKind('v1beta2'), toKeys: (cluster, cache) => matching(cache, cluster) },
      { kind: ConfigMapKind, toKeys: (object, cache) => carrying(cache, object, 'ConfigMap') },
      {
        kind: SecretKind,
        toKeys: (object, cache) => [...carrying(cache, object, 'Secret'), ...kubeconfigOf(cache, object)],
      },
      {
        kind: BindingKind,
        ignores: (now, before) => asksForNothing(now as unknown as Binding, before as unknown as Binding),
        toKeys: (binding, cache) => ofCluster(cache, keyOf(binding)),
      },
    ],
    observe: observeSet,
    decide,
    act: (world, observed, action) => actOn(world, observed, action, remotes),
    status: report,
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

function decide(observed: ObservedSet): Decision<SetAction> {
  const { set } = observed
  if (set.metadata.deletionTimestamp)
    return hasFinalizer(set, SET_FINALIZER) ? act<SetAction>({ do: 'clean-up' }) : done
  if (pauseOf(undefined, set) !== undefined) return done
  if (!hasFinalizer(set, SET_FINALIZER)) return act<SetAction>({ do: 'add-finalizer' })
  const open = observed.clusters.filter((cluster) => needsWork(observed, cluster))
  const reachable = open.filter((cluster) => cluster.infrastructureProvisioned)
  if (reachable.length > 0) return act<SetAction>({ do: 'apply', clusters: reachable })
  if (open.length > 0)
    return waiting('InfrastructureNotProvisioned', `Waiting for ${open.map((cluster) => cluster.name).join(', ')}`)
  return observed.sources.some(isUnwatched) ? doneFor(UNWATCHED_SECONDS) : done
}

const UNWATCHED_SECONDS = 30

/** Secrets are watched by this label alone; core watches all of them, so those without it are read again from time to time. */
const isUnwatched = ({ ref, live }: Source): boolean =>
  ref.kind === 'Secret' && live?.metadata.labels?.[CLUSTER_NAME_LABEL] === undefined

function needsWork(observed: ObservedSet, cluster: ClusterFacts): boolean {
  const binding = observed.bindings.get(cluster.name)
  // The first pass leaves a binding and a condition, even when there was nothing to apply.
  if (!binding || conditionOf(observed.set, 'ResourcesApplied') === undefined) return observed.sources.length > 0
  return observed.sources.some((source) => {
    if (source.isWrongType) return true
    if (!source.live) return false
    return needsApply(observed, binding, source) || !isOwnedBy(source.live, observed.set)
  })
}

async function actOn(world: World, observed: ObservedSet, action: SetAction, remotes: RemoteClusters): Promise<void> {
  if (action.do !== 'apply') {
    if (action.do === 'clean-up') return await cleanUp(world, observed)
    return await addFinalizer(world.objects, SetKind, observed.set, SET_FINALIZER)
  }
  await ownSources(world, observed)
  const faults: string[] = []
  for (const cluster of action.clusters) faults.push(...(await applyTo(world, observed, cluster, remotes)))
  if (faults.length > 0)
    throw new CaptError('CAPT_RESOURCE_SET_FAILED', faults.join('; '), {
      hint: 'Look at the ClusterResourceSetBinding of the Cluster',
    })
}

/** One condition for all clusters: the last one wins, as in core. Nothing is written when nothing was tried. */
function report({ set, outcome, nowMs, clusters }: ObservedSet): StatusReport {
  const { generation } = set.metadata
  const cause = pauseOf(undefined, set)
  const paused = cause === undefined ? draft('Paused', 'False', 'NotPaused') : draft('Paused', 'True', 'Paused', cause)
  const conditions = outcome.draft ? [outcome.draft, paused] : [paused]
  const fields: Record<string, unknown> = { observedGeneration: generation }
  if (outcome.draft && outcome.old && clusters.length > 0) {
    const previous = set.status?.deprecated?.v1beta1?.conditions?.find((one) => one.type === 'ResourcesApplied')
    const { status } = outcome.draft
    const lastTransitionTime = previous?.status === status ? previous.lastTransitionTime : toTimestamp(nowMs)
    fields['deprecated'] = {
      v1beta1: { conditions: [{ type: 'ResourcesApplied', status, ...outcome.old, lastTransitionTime }] },
    }
  }
  return { fields, conditions }
}
