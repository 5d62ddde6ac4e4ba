// The teardown of a Cluster that no AddonDelivery speaks for: load balancers, Karpenter's nodes and what carries the
// cluster's tags go before EKS does. The same steps as in a delivery's teardown, without stages. Progress is held in
// memory: after a restart it begins again, and every step may be repeated.
import { AddonDelivery, type AnyObject, type Key, keyText, type TeardownStatus } from '#api'
import { isKubeError, type Projected } from '#kube'
import type { World } from '#runtime'
import { actOnWorkload } from './act-teardown.ts'
import { openWorkload } from './observe-delivery.ts'
import { toSight } from './observe-stages.ts'
import { observeTeardown } from './observe-teardown.ts'
import type { Instances, Workloads } from './port.ts'
import { judgeTeardown } from './teardown.ts'

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

export interface ClusterTeardown {
  /** Does what is next. Events are reported about the given object. */
  advance(world: World, cluster: Key, about: AnyObject): Promise<TeardownProgress>
  forget(cluster: Key): void
}

const NODES_TIMEOUT = '15m'

export function clusterTeardown(ports: ClusterTeardownPorts): ClusterTeardown {
  const progress = new Map<string, TeardownStatus>()
  return {
    async advance(world, cluster, about) {
      const nowMs = world.clock.now()
      const before = progress.get(keyText(cluster))
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
      const opened = await openWorkload(ports, cluster)
      const seen = await observeTeardown({ ...context, ...opened }).catch((error: unknown) => {
        // The API stopped answering in between.
        if (!isKubeError(error)) throw error
        return observeTeardown({ ...context, workload: undefined, sight: toSight(error) })
      })
      const { decision, status, isOver, summary } = judgeTeardown(seen, nowMs)
      // Written down first: a step that fails must not begin its time again.
      progress.set(keyText(cluster), status)
      for (const action of decision.is === 'act' ? decision.actions : [])
        if (action.do !== 'close-gate') await actOnWorkload(world, ports, cluster, about, action)
      const retryAfterSeconds = decision.is === 'act' ? 0.1 : (decision.retryAfterSeconds ?? 0.1)
      return { isOver, message: summary, leftovers: status.leftovers ?? [], retryAfterSeconds }
    },
    forget: (cluster) => void progress.delete(keyText(cluster)),
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
