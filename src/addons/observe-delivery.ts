// Reads all that the decision about one AddonDelivery needs into one value.
import {
  AddonDelivery,
  AddonPipeline,
  type AnyObject,
  CLUSTER_NAME_LABEL,
  clusterKind,
  clusterResourceSetKind,
  type Key,
  pauseOf,
  readCluster,
} from '#api'
import { isKubeError, type Projected } from '#kube'
import { isCaptError } from '#lib'
import type { World } from '#runtime'
import type { CarrierMemory } from './carriers.ts'
import type { DeliveryPorts } from './delivery-ports.ts'
import type { DeliverySeen, StageSeen, WorkloadSight } from './delivery-seen.ts'
import { isWorking } from './health-finding.ts'
import { targetOf } from './health-read.ts'
import { CLUSTER_LABEL, GATES_ANNOTATION } from './names.ts'
import { isQuiet, observeStages, ownSets, toSight } from './observe-stages.ts'
import { finishedTeardown, observeTeardown } from './observe-teardown.ts'
import { mayFollow } from './pipeline-consent.ts'
import { orderStages } from './plan.ts'
import type { Workload } from './port.ts'
import type { PresenceMemory } from './presence.ts'
import { parseGates, readWishes } from './wish.ts'
import type { WorkloadWatches } from './workload-watches.ts'

export interface Observer {
  readonly ports: DeliveryPorts
  readonly carriers: CarrierMemory
  readonly presence: PresenceMemory
  readonly watches: WorkloadWatches
}

export async function observeDelivery(
  world: World,
  observer: Observer,
  delivery: Projected<AddonDelivery>,
): Promise<DeliverySeen> {
  const { ports } = observer
  const nowMs = world.clock.now()
  const namespace = delivery.metadata.namespace!
  const clusterKey = { namespace, name: delivery.spec.clusterName }
  const object = world.cache.get<AnyObject>(clusterKind(ports.clusterApi), clusterKey)
  const cluster = object ? readCluster(object) : undefined
  const { pipeline, isForbidden } = pipelineOf(world, delivery, ports)
  const { ordered, planFault } = planOf(pipeline)
  const isGoing = delivery.metadata.deletionTimestamp !== undefined || cluster === undefined || cluster.deleting
  const base: DeliverySeen = {
    delivery,
    cluster,
    pipeline,
    isPipelineForbidden: isForbidden,
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
    teardown: undefined,
    nowMs,
  }
  const isStill =
    base.pause !== undefined ||
    (!isGoing &&
      (base.conflict !== undefined || planFault !== undefined || delivery.spec.suspend || !ports.resourceSets))
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
  const { workload, sight }: Opened = isAtRest
    ? { workload: undefined, sight: { is: 'absent' } }
    : await openWorkload(ports, clusterKey)
  let seen: DeliverySeen = { ...base, workload: sight }
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
    seen = {
      ...seen,
      stages: stages.stages,
      kubernetes: stages.kubernetes,
      faults: stages.faults,
      workload: stages.trouble ?? sight,
    }
  }
  const cause = isGoing ? 'cluster' : 'wish'
  const going = isGoing ? new Set(ordered.map((stage) => stage.name)) : abandoned(seen.stages)
  if (isGoing || going.size > 0) {
    const kind = ports.resourceSets ? clusterResourceSetKind(ports.resourceSets) : undefined
    const sets = kind
      ? ownSets({ world, ports, cluster: cluster ?? ({ ...clusterKey } as never) }).map((set) => ({
          object: set,
          kind,
        }))
      : []
    const { terminateInstances = false, deleteLoadBalancers = true, timeout = '15m' } = pipeline?.spec.teardown ?? {}
    const context = {
      world,
      ports,
      delivery,
      cluster: clusterKey,
      sets,
      stages: ordered,
      going,
      seen: seen.stages,
      cause,
      withCluster: cluster === undefined || cluster.deleting,
      wasUp: cluster?.controlPlaneInitialized ?? false,
      terminate: terminateInstances,
      deleteNetwork: deleteLoadBalancers,
      nodesTimeout: timeout,
      nowMs,
    } as const
    const teardown = await observeTeardown({ ...context, workload, sight: seen.workload }).catch((error: unknown) => {
      // The API died under our eyes: look at it as silent.
      if (!isKubeError(error)) throw error
      return observeTeardown({ ...context, workload: undefined, sight: toSight(error) })
    })
    seen = { ...seen, teardown }
  }
  return { ...seen, isWatched: watch(observer, clusterKey, delivery, seen, workload) }
}

interface Followed {
  readonly pipeline: Projected<AddonPipeline> | undefined
  /** It exists, and does not let deliveries of this namespace follow it. */
  readonly isForbidden: boolean
}

/** The pipeline that a delivery names. Without its consent nothing of it is read. */
function pipelineOf(world: World, delivery: Projected<AddonDelivery>, { homeNamespace }: DeliveryPorts): Followed {
  const { name, namespace = delivery.metadata.namespace! } = delivery.spec.pipelineRef
  const pipeline = world.cache.get<AddonPipeline>(AddonPipeline, { namespace, name })
  const isForbidden = pipeline !== undefined && !mayFollow(delivery, pipeline, homeNamespace)
  return { pipeline: isForbidden ? undefined : pipeline, isForbidden }
}

function planOf(pipeline: Projected<AddonPipeline> | undefined): {
  ordered: readonly AddonPipeline['spec']['stages'][number][]
  planFault: DeliverySeen['planFault']
} {
  try {
    return { ordered: pipeline ? orderStages(pipeline.spec.stages) : [], planFault: undefined }
  } catch (error) {
    if (!isCaptError(error)) throw error
    return { ordered: [], planFault: { message: error.message, hint: error.hint ?? '' } }
  }
}

/** Stages that nobody wants any more but that are still there. */
function abandoned(stages: readonly StageSeen[]): ReadonlySet<string> {
  const left = stages.filter(
    (one) => !one.isWanted && (one.hasSets || one.before?.state === 'Removing' || one.before?.startedAt !== undefined),
  )
  return new Set(left.map((one) => one.stage.name))
}

/** Two pipelines that bring the same stage would overwrite each other for ever. */
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
      stages: pipeline ? readWishes(pipeline.spec.stages, labels, opened).wanted : new Set(),
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

interface Opened {
  readonly workload: Workload | undefined
  readonly sight: WorkloadSight
}

export async function openWorkload(ports: Pick<DeliveryPorts, 'workloads'>, cluster: Key): Promise<Opened> {
  try {
    const workload = await ports.workloads.open(cluster)
    return { workload, sight: workload ? { is: 'open' } : { is: 'absent' } }
  } catch (error) {
    return { workload: undefined, sight: toSight(error) }
  }
}

/** A cluster that makes progress is watched; one that has settled is only looked at now and then. */
function watch(
  { ports, watches }: Observer,
  cluster: { namespace: string; name: string },
  delivery: Projected<AddonDelivery>,
  seen: DeliverySeen,
  workload: Workload | undefined,
): boolean {
  const open = seen.stages.filter((one) => one.isWanted).flatMap((one) => one.parts)
  const unfinished = open.filter((part) => !part.findings?.every(isWorking))
  if (!workload || seen.workload.is !== 'open' || seen.teardown || unfinished.length === 0) {
    watches.release(cluster)
    return false
  }
  const kinds = open
    .filter((part) => part.findings)
    .flatMap(({ part }) => part.checks.map((check) => targetOf(check).kind))
  const key = { namespace: cluster.namespace, name: delivery.metadata.name }
  return kinds.length > 0 && watches.hold(cluster, workload, kinds, () => ports.wake(key))
}
