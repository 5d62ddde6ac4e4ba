// Reads all that the decision about one AddonDelivery needs into one value.
import {
  AddonDelivery,
  AddonPipeline,
  type AnyObject,
  type CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  type ClusterFacts,
  clusterKind,
  clusterResourceSetKind,
  isAdopted,
  pauseOf,
  readCluster,
} from '#api'
import type { Projected } from '#kube'
import { isCaptError } from '#lib'
import type { World } from '#runtime'
import { mayFollow } from '../addon-pipeline/consent.ts'
import { type Followed as FollowedRevision, followRevision } from '../addon-pipeline/revision.ts'
import type { Workload } from '../shared/workload.ts'
import { isWorking } from './health/finding.ts'
import { targetOf } from './health/read.ts'
import { CLUSTER_LABEL, clusterOf, GATES_ANNOTATION } from './names.ts'
import type { ObservedDelivery, ObservedStage } from './observed.ts'
import { type OpenedWorkload, openWorkload } from './open-workload.ts'
import type { DeliveryPorts } from './ports.ts'
import { observeForeignSets } from './resource-set/foreign-sets.ts'
import type { PayloadCache } from './resource-set/payloads.ts'
import type { PresenceCache } from './resource-set/presence.ts'
import { isAutoMode, type SkippedStage, withoutKarpenter } from './stages/auto-mode.ts'
import { withSettings } from './stages/karpenter/settings.ts'
import { isQuiet, observeStages, ownSets } from './stages/observe/observe-stages.ts'
import { controlPlaneOf } from './stages/observe/read-facts.ts'
import { orderStages } from './stages/order.ts'
import { parseGates, readRequests } from './stages/request.ts'
import { finishedTeardown, observeTeardown } from './teardown/observe.ts'
import type { WorkloadWatches } from './workload-watches.ts'

export interface Observer {
  readonly ports: DeliveryPorts
  readonly payloads: PayloadCache
  readonly presence: PresenceCache
  readonly watches: WorkloadWatches
}

/** An adopted cluster outlives its Cluster: only what was delivered is removed from it. */
function staysInAws({ cache }: Pick<World, 'cache'>, cluster: ClusterFacts): boolean {
  const plane = controlPlaneOf(cache, cluster)
  return plane !== undefined && isAdopted(plane)
}

export async function observeDelivery(
  world: World,
  observer: Observer,
  delivery: Projected<AddonDelivery>,
): Promise<ObservedDelivery> {
  const { ports } = observer
  const nowMs = world.clock.now()
  const clusterKey = clusterOf(delivery)
  const object = world.cache.get<AnyObject>(clusterKind(ports.clusterApi), clusterKey)
  const cluster = object ? readCluster(object) : undefined
  const { pipeline, isForbidden, revision } = pipelineOf(world, delivery, ports)
  const controlPlane = cluster && controlPlaneOf(world.cache, cluster)
  const { ordered, skipped, planFault } = planOf(pipeline, controlPlane, cluster?.labels ?? {})
  const isGoing = delivery.metadata.deletionTimestamp !== undefined || cluster === undefined || cluster.deleting
  const base: ObservedDelivery = {
    delivery,
    cluster,
    pipeline,
    isPipelineForbidden: isForbidden,
    revision,
    pause: pauseOf(cluster, delivery),
    conflict: cluster && pipeline ? conflictOf(world, ports, delivery, cluster.labels) : undefined,
    planFault,
    kubernetes: undefined,
    faults: [],
    areSetsServed: ports.resourceSets !== undefined,
    isLabelled: cluster?.labels[CLUSTER_LABEL] === clusterKey.name,
    isAdopted:
      cluster === undefined ||
      (delivery.metadata.labels?.[CLUSTER_NAME_LABEL] === cluster.name &&
        (delivery.metadata.ownerReferences ?? []).some((owner) => owner.uid === cluster.uid)),
    workload: { is: 'absent' },
    isWatched: false,
    stages: [],
    skipped,
    teardown: undefined,
    nowMs,
  }
  const isStill =
    base.pause !== undefined ||
    (!isGoing &&
      (base.conflict !== undefined ||
        planFault !== undefined ||
        revision?.is === 'unknown' ||
        delivery.spec.suspend ||
        !ports.resourceSets))
  if (isStill) {
    observer.watches.release(clusterKey)
    return base
  }

  const finished = isGoing ? finishedTeardown(delivery, nowMs) : undefined
  if (finished) {
    observer.watches.release(clusterKey)
    return { ...base, teardown: finished }
  }

  const isAtRest = cluster !== undefined && !isGoing && isQuiet({ world, ports, delivery, cluster, stages: ordered })
  const { workload, workloadState }: OpenedWorkload = isAtRest
    ? { workload: undefined, workloadState: { is: 'absent' } }
    : await openWorkload(ports, clusterKey)
  let observed: ObservedDelivery = { ...base, workload: workloadState }
  if (cluster && pipeline) {
    const stages = await observeStages({
      world,
      ...observer,
      delivery,
      cluster,
      pipeline,
      stages: ordered,
      workload,
      isQuiet: isAtRest,
      nowMs,
    })
    observed = {
      ...observed,
      stages: stages.stages,
      foreignSets: isAtRest ? [] : await observeForeignSets(world, ports, cluster, wantedOf(stages.stages)),
      kubernetes: stages.kubernetes,
      faults: stages.faults,
      workload: stages.trouble ?? workloadState,
    }
  }
  const cause = isGoing ? 'cluster' : 'stages'
  const going = isGoing ? new Set(ordered.map((stage) => stage.name)) : abandoned(observed.stages)
  if (isGoing || going.size > 0) {
    const { resourceSets } = ports
    const sets = resourceSets
      ? ownSets({ world, ports, cluster: clusterKey }).map((object) => ({
          object,
          kind: clusterResourceSetKind(resourceSets),
        }))
      : []
    const { terminateInstances = false, deleteLoadBalancers = true, timeout = '15m' } = pipeline?.spec.teardown ?? {}
    const teardown = await observeTeardown({
      world,
      ports,
      delivery,
      cluster: clusterKey,
      sets,
      stages: ordered,
      going,
      observedStages: observed.stages,
      cause,
      withCluster: cluster === undefined || (cluster.deleting && !staysInAws(world, cluster)),
      isClusterKept: cluster !== undefined && !cluster.deleting,
      wasUp: cluster?.controlPlaneInitialized ?? false,
      terminate: terminateInstances,
      deleteNetwork: deleteLoadBalancers,
      nodesTimeout: timeout,
      isAutoMode: isAutoMode(controlPlane),
      workload,
      workloadState: observed.workload,
      nowMs,
    })
    observed = { ...observed, teardown }
  }
  return { ...observed, isWatched: watch(observer, clusterKey, delivery, observed, workload) }
}

interface Followed {
  readonly pipeline: Projected<AddonPipeline> | undefined
  /** It exists, and does not let deliveries of this namespace follow it. */
  readonly isForbidden: boolean
  readonly revision?: Omit<FollowedRevision, 'pipeline'>
}

/** The pipeline that a delivery names, in the revision that the delivery has. Without its consent nothing of it is read. */
function pipelineOf(world: World, delivery: Projected<AddonDelivery>, { homeNamespace }: DeliveryPorts): Followed {
  const { name, namespace = delivery.metadata.namespace! } = delivery.spec.pipelineRef
  const pipeline = world.cache.get<AddonPipeline>(AddonPipeline, { namespace, name })
  const isForbidden = pipeline !== undefined && !mayFollow(delivery.metadata.namespace ?? '', pipeline, homeNamespace)
  if (!pipeline || isForbidden) return { pipeline: undefined, isForbidden }
  const followed = followRevision(pipeline, delivery)
  // A teardown goes by the newest content where the earlier one is not known.
  return {
    pipeline: followed.is === 'unknown' ? pipeline : followed.pipeline,
    isForbidden,
    revision: { is: followed.is, revision: followed.revision },
  }
}

function planOf(
  pipeline: Projected<AddonPipeline> | undefined,
  controlPlane: Projected<CAPTControlPlane> | undefined,
  labels: Readonly<Record<string, string>>,
): {
  ordered: readonly AddonPipeline['spec']['stages'][number][]
  skipped: readonly SkippedStage[]
  planFault: ObservedDelivery['planFault']
} {
  try {
    const all = withSettings(pipeline ? orderStages(pipeline.spec.stages) : [], controlPlane)
    if (!isAutoMode(controlPlane)) return { ordered: all, skipped: [], planFault: undefined }
    const { stages, skipped } = withoutKarpenter(all, labels)
    return { ordered: stages, skipped, planFault: undefined }
  } catch (error) {
    if (!isCaptError(error)) throw error
    return { ordered: [], skipped: [], planFault: { message: error.message, hint: error.hint ?? '' } }
  }
}

const wantedOf = (stages: readonly ObservedStage[]) => stages.filter((one) => one.isWanted).map((one) => one.stage)

/** Stages that are no longer requested but are still installed. */
function abandoned(stages: readonly ObservedStage[]): ReadonlySet<string> {
  const left = stages.filter(
    (one) => !one.isWanted && (one.hasSets || one.before?.state === 'Removing' || one.before?.startedAt !== undefined),
  )
  return new Set(left.map((one) => one.stage.name))
}

/** Two pipelines that deliver the same stage would overwrite each other for ever. */
function conflictOf(
  world: World,
  ports: DeliveryPorts,
  delivery: Projected<AddonDelivery>,
  labels: Readonly<Record<string, string>>,
): string | undefined {
  const namespace = delivery.metadata.namespace!
  const value = `${namespace}/${delivery.spec.clusterName}`
  const wanted = (one: Projected<AddonDelivery>): { readonly name: string; readonly stages: ReadonlySet<string> } => {
    const { pipeline } = pipelineOf(world, one, ports)
    const opened = parseGates(one.metadata.annotations?.[GATES_ANNOTATION])
    return {
      name: `${one.spec.pipelineRef.namespace ?? namespace}/${one.spec.pipelineRef.name}`,
      stages: pipeline ? readRequests(pipeline.spec.stages, labels, opened).wanted : new Set(),
    }
  }
  const own = wanted(delivery)
  for (const other of world.cache.list<AddonDelivery>(AddonDelivery, { index: 'cluster', value })) {
    if (other.metadata.name === delivery.metadata.name || other.metadata.deletionTimestamp) continue
    const theirs = wanted(other)
    const both = [...own.stages].filter((stage) => theirs.stages.has(stage)).sort()
    if (both.length > 0)
      return `Pipelines ${[own.name, theirs.name].sort().join(' and ')} both bring ${both.join(', ')} to this Cluster`
  }
  return undefined
}

/** Watches a cluster that makes progress; a settled one is only polled. */
function watch(
  { ports, watches }: Observer,
  cluster: { namespace: string; name: string },
  delivery: Projected<AddonDelivery>,
  observed: ObservedDelivery,
  workload: Workload | undefined,
): boolean {
  const open = observed.stages.filter((one) => one.isWanted).flatMap((one) => one.parts)
  const unfinished = open.filter((part) => !part.findings?.every(isWorking))
  if (!workload || observed.workload.is !== 'open' || observed.teardown || unfinished.length === 0) {
    watches.release(cluster)
    return false
  }
  const kinds = open
    .filter((part) => part.findings)
    .flatMap(({ part }) => part.checks.map((check) => targetOf(check).kind))
  const key = { namespace: cluster.namespace, name: delivery.metadata.name }
  return kinds.length > 0 && watches.hold(cluster, workload, kinds, () => ports.wake(key))
}
