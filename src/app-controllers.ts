// The controllers of a manager, by the groups it was asked for, each with the ports it needs.
import {
  addonDeliveryController,
  addonPipelineController,
  clusterTeardown,
  DELIVERY_CONTROLLER,
  type Instances,
} from '#addons'
import { clusterKind, type Key } from '#api'
import type { Aws } from '#aws'
import { checkPair } from '#catalog'
import {
  captClusterController,
  captControlPlaneController,
  workspaceApplyController,
  workspaceTemplateController,
} from '#controllers'
import type { Engine } from '#engine'
import type { Cache, Events, Objects } from '#kube'
import type { Clock, Log, Metrics } from '#lib'
import { type AnyController, warnCluster } from '#runtime'
import { oldestNodeOf } from './app-nodes.ts'
import { fetchText } from './app-reach.ts'
import type { ServedVersions } from './app-served.ts'
import type { WorkloadDoors } from './app-workloads.ts'

export const CONTROLLER_GROUPS = ['infrastructure', 'control-plane', 'addons'] as const
export type ControllerGroup = (typeof CONTROLLER_GROUPS)[number]

export interface ControllerPorts {
  readonly groups: readonly ControllerGroup[]
  readonly versions: ServedVersions
  readonly objects: Objects
  readonly events: Events
  readonly cache: Cache
  /** Undefined where the infrastructure group does not run. */
  readonly engine: Engine | undefined
  readonly workloads: WorkloadDoors
  readonly reach: (kubeconfig: string) => Promise<string | undefined>
  readonly homeNamespace: string
  readonly watchSecrets: boolean
  /** Terraform runs beside the manager, with its identity: for one namespace only. */
  readonly singleTenant: boolean
  readonly instances: Instances
  readonly aws: Aws
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Has a controller look at an object again. */
  wake(controller: string, key: Key): void
}

export interface Controllers {
  readonly all: readonly AnyController[]
  /** Ends what they do beside their turns. */
  stop(): void
}

export function controllersOf(ports: ControllerPorts): Controllers {
  const { groups, versions, objects, events, engine, workloads, clock, log, metrics } = ports
  const cluster = clusterKind(versions.cluster)
  const all: AnyController[] = []
  const stops: (() => void)[] = []
  if (groups.includes('infrastructure') && engine) {
    all.push(
      captClusterController({ clusterKind: cluster }),
      workspaceApplyController({ engine, clusterKind: cluster, singleTenant: ports.singleTenant }),
      workspaceTemplateController(),
    )
  }
  if (groups.includes('control-plane')) {
    const planes = captControlPlaneController({
      clusterKind: cluster,
      aws: ports.aws,
      objects,
      events: warnCluster(events, ports.cache, cluster),
      clock,
      log,
      metrics,
      reach: ports.reach,
      secrets: ports.watchSecrets ? 'watched' : { wake: (plane) => ports.wake(planes.name, plane) },
      teardown: clusterTeardown({ workloads, instances: ports.instances }),
      oldestNode: (key) => oldestNodeOf(workloads, key),
      checkVersion: (kubernetes) => {
        const [fault] = checkPair({ kubernetes })
        return fault ? { message: fault.message, hint: fault.hint } : undefined
      },
    })
    stops.push(() => planes.stop())
    all.push(planes)
  }
  if (groups.includes('addons')) {
    const homes = { clusterApi: versions.cluster, homeNamespace: ports.homeNamespace }
    const deliveries = addonDeliveryController({
      ...homes,
      workloads,
      resourceSets: versions.resourceSets,
      fetchText,
      wake: (key) => ports.wake(DELIVERY_CONTROLLER, key),
      instances: ports.instances,
    })
    stops.push(() => deliveries.stop())
    all.push(addonPipelineController(homes), deliveries)
  }
  return {
    all,
    stop() {
      for (const stop of stops) stop()
    },
  }
}
