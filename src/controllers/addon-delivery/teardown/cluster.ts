// The teardown that a control plane runs itself, with the steps of a delivery's teardown but without stages. Before EKS
// goes, of a Cluster that has no AddonDelivery: load balancers, Karpenter's nodes, what has the cluster's tags. After
// it is gone, of every Cluster: what its nodes left in the network, which would keep the VPC from being deleted. Progress
// is held in memory: after a restart it begins again, and every step may be repeated.
import { AddonDelivery, AddonPipeline, type AnyObject, type Key, keyText, type TeardownStatus } from '#api'
import { isKubeError, type Projected } from '#kube'
import { toTimestamp } from '#lib'
import type { World } from '#runtime'
import type { Instances, Workloads } from '../../shared/workload.ts'
import { openWorkload } from '../open-workload.ts'
import { actOnWorkload } from './act.ts'
import { decideTeardown } from './decide.ts'
import { WORKLOAD_STEP } from './end.ts'
import { observeTeardown } from './observe.ts'

interface ClusterTeardownPorts {
  readonly workloads: Workloads
  readonly instances?: Instances
}

interface TeardownProgress {
  readonly isOver: boolean
  readonly message: string
  readonly leftovers: readonly string[]
  readonly retryAfterSeconds: number
}

/** Whether EKS is still there. */
export type TeardownPhase = 'before' | 'after'

export interface ClusterTeardown {
  /**
   * Does what is next. Events are reported about the given object. The pipelines are those of the Cluster's
   * AddonDeliveries: what one of them does not allow to delete is only reported.
   */
  advance(
    world: World,
    cluster: Key,
    about: AnyObject,
    phase: TeardownPhase,
    pipelines?: readonly Key[],
  ): Promise<TeardownProgress>
  forget(cluster: Key): void
}

const NODES_TIMEOUT = '15m'

export function clusterTeardown(given: ClusterTeardownPorts): ClusterTeardown {
  const progress = new Map<string, TeardownStatus>()
  const idOf = (cluster: Key, phase: TeardownPhase) => `${phase} ${keyText(cluster)}`
  return {
    async advance(world, cluster, about, phase, pipelines = []) {
      const nowMs = world.clock.now()
      const isAfter = phase === 'after'
      const ports = isAfter ? networkAlone(given, () => mayDelete(world, pipelines)) : given
      const before = progress.get(idOf(cluster, phase)) ?? (isAfter ? withoutWorkload(nowMs) : undefined)
      const opened = isAfter
        ? ({ workload: undefined, workloadState: { is: 'absent' } } as const)
        : await openWorkload(ports, cluster)
      const observed = await observeTeardown({
        world,
        ports,
        delivery: withProgress(cluster, before),
        cluster: { namespace: cluster.namespace!, name: cluster.name },
        sets: [],
        stages: [],
        going: new Set<string>(),
        observedStages: [],
        cause: 'cluster',
        withCluster: true,
        isClusterKept: false,
        wasUp: true,
        terminate: false,
        deleteNetwork: true,
        nodesTimeout: NODES_TIMEOUT,
        ...opened,
        nowMs,
      })
      const { decision, status, isOver, summary } = decideTeardown(observed, nowMs)
      // Recorded first: a step that fails must not restart its timeout.
      progress.set(idOf(cluster, phase), status)
      for (const action of decision.is === 'act' ? decision.actions : [])
        if (action.do !== 'close-gate') await actOnWorkload(world, ports, cluster, about, action)
      const retryAfterSeconds = decision.is === 'act' ? 0.1 : (decision.retryAfterSeconds ?? 0.1)
      return { isOver, message: summary, leftovers: status.leftovers ?? [], retryAfterSeconds }
    },
    forget(cluster) {
      progress.delete(idOf(cluster, 'before'))
      progress.delete(idOf(cluster, 'after'))
    },
  }
}

/** Only the last step is left. */
const withoutWorkload = (nowMs: number): TeardownStatus => ({
  startedAt: toTimestamp(nowMs),
  steps: [{ name: WORKLOAD_STEP, state: 'Done' }],
})

/** A pipeline that is gone forbids nothing; one that may not be read does. */
async function mayDelete({ objects }: World, pipelines: readonly Key[]): Promise<boolean> {
  for (const key of pipelines) {
    try {
      const pipeline = await objects.get<AddonPipeline>(AddonPipeline, key)
      if (pipeline?.spec.teardown?.deleteLoadBalancers === false) return false
    } catch (error) {
      if (isKubeError(error, 'Forbidden')) return false
      throw error
    }
  }
  return true
}

/** Instances and volumes were reported before EKS went. */
function networkAlone(
  { workloads, instances }: ClusterTeardownPorts,
  isAllowed: () => Promise<boolean>,
): ClusterTeardownPorts {
  if (!instances) return { workloads }
  const { network, removeNetwork } = instances
  return {
    workloads,
    instances: {
      list: async () => [],
      terminate: async () => undefined,
      ...(network
        ? {
            async network(cluster) {
              const found = await network.call(instances, cluster)
              // Asked only when there is something to delete.
              if (!found || found.length === 0 || (await isAllowed())) return found
              return found.map((one) => ({ ...one, isRemovable: false }))
            },
          }
        : {}),
      ...(removeNetwork
        ? { removeNetwork: (cluster, objects) => removeNetwork.call(instances, cluster, objects) }
        : {}),
    },
  }
}

function withProgress(cluster: Key, teardown: TeardownStatus | undefined): Projected<AddonDelivery> {
  const delivery: AddonDelivery = {
    apiVersion: AddonDelivery.apiVersion,
    kind: AddonDelivery.kind,
    metadata: { name: cluster.name, namespace: cluster.namespace! },
    spec: { clusterName: cluster.name, pipelineRef: { name: '' }, suspend: false, overrides: [] },
    ...(teardown ? { status: { teardown } } : {}),
  }
  return delivery as Projected<AddonDelivery>
}
