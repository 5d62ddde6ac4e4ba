// The teardown that a control plane runs itself, with the steps of a delivery's teardown but without stages. Before EKS
// goes, of a Cluster that has no AddonDelivery: load balancers, Karpenter's nodes, what carries the cluster's tags. After
// it is gone, of every Cluster: what its nodes left in the network, which would keep the VPC from being deleted. Progress
// is held in memory: after a restart it begins again, and every step may be repeated.
import { AddonDelivery, type AnyObject, type Key, keyText, type TeardownStatus } from '#api'
import { isKubeError, type Projected } from '#kube'
import { toTimestamp } from '#lib'
import type { World } from '#runtime'
import { actOnWorkload } from './act-teardown.ts'
import { openWorkload } from './observe-delivery.ts'
import { toSight } from './observe-stages.ts'
import { observeTeardown } from './observe-teardown.ts'
import type { Instances, Workloads } from './port.ts'
import { judgeTeardown } from './teardown.ts'
import { WORKLOAD_STEP } from './teardown-end.ts'

export interface ClusterTeardownPorts {
  readonly workloads: Workloads
  readonly instances?: Instances
}

export interface TeardownProgress {
  readonly isOver: boolean
  readonly message: string
  readonly leftovers: readonly string[]
  readonly retryAfterSeconds: number
}

/** Whether EKS is still there. */
export type TeardownPhase = 'before' | 'after'

export interface ClusterTeardown {
  /** Does what is next. Events are reported about the given object. */
  advance(world: World, cluster: Key, about: AnyObject, phase: TeardownPhase): Promise<TeardownProgress>
  forget(cluster: Key): void
}

const NODES_TIMEOUT = '15m'

export function clusterTeardown(given: ClusterTeardownPorts): ClusterTeardown {
  const progress = new Map<string, TeardownStatus>()
  const idOf = (cluster: Key, phase: TeardownPhase) => `${phase} ${keyText(cluster)}`
  return {
    async advance(world, cluster, about, phase) {
      const nowMs = world.clock.now()
      const isAfter = phase === 'after'
      const ports = isAfter ? networkAlone(given) : given
      const before = progress.get(idOf(cluster, phase)) ?? (isAfter ? withoutWorkload(nowMs) : undefined)
      const context = {
        world,
        ports,
        delivery: withProgress(cluster, before),
        cluster: { namespace: cluster.namespace!, name: cluster.name },
        sets: [],
        stages: [],
        going: new Set<string>(),
        seen: [],
        cause: 'cluster',
        withCluster: true,
        wasUp: true,
        terminate: false,
        deleteNetwork: true,
        nodesTimeout: NODES_TIMEOUT,
        nowMs,
      } as const
      const opened = isAfter
        ? ({ workload: undefined, sight: { is: 'absent' } } as const)
        : await openWorkload(ports, cluster)
      const seen = await observeTeardown({ ...context, ...opened }).catch((error: unknown) => {
        // The API stopped answering in between.
        if (!isKubeError(error)) throw error
        return observeTeardown({ ...context, workload: undefined, sight: toSight(error) })
      })
      const { decision, status, isOver, summary } = judgeTeardown(seen, nowMs)
      // Written down first: a step that fails must not begin its time again.
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

/** Instances and volumes were reported before EKS went. */
function networkAlone({ workloads, instances }: ClusterTeardownPorts): ClusterTeardownPorts {
  if (!instances) return { workloads }
  const { network, removeNetwork } = instances
  return {
    workloads,
    instances: {
      list: async () => [],
      terminate: async () => undefined,
      ...(network ? { network: (cluster) => network.call(instances, cluster) } : {}),
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
