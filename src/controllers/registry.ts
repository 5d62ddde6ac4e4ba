// Every controller of a manager, by the group that runs it, with the ports it needs. A new controller is added here alone.

import {
  CAPTMachine,
  CAPTMachineDeployment,
  CAPTMachinePool,
  CAPTMachineSet,
  type ClusterApiVersion,
  type ControllerGroup,
  clusterKind,
  type Key,
  machineKind,
  machinePoolKind,
} from '#api'
import type { Aws, ClusterDescriptions, ClusterNames } from '#aws'
import { checkPair } from '#catalog'
import type { Engine } from '#engine'
import type { Cache, Events, Objects } from '#kube'
import type { Clock, Log, Metrics } from '#lib'
import { type AnyController, warnCluster } from '#runtime'
import { addonDeliveryController, DELIVERY_CONTROLLER } from './addon-delivery/index.ts'
import { clusterTeardown } from './addon-delivery/teardown/cluster.ts'
import { addonPipelineController } from './addon-pipeline/index.ts'
import { captBootstrapConfigController } from './bootstrap-config/index.ts'
import { captClusterController } from './cluster/index.ts'
import { captControlPlaneController } from './control-plane/index.ts'
import { oldestNodeOf } from './control-plane/nodes.ts'
import { captMachineController } from './machine/index.ts'
import { captMachineDeploymentController } from './machine-deployment/index.ts'
import { captMachinePoolController } from './machine-pool/index.ts'
import { captMachineSetController } from './machine-set/index.ts'
import type { Instances, Workloads } from './shared/workload.ts'
import type { ApprovalOptions } from './workspace-apply/approval/approval.ts'
import { workspaceApplyController } from './workspace-apply/index.ts'
import { workspaceTemplateController } from './workspace-template/index.ts'

/** The versions of Cluster API that the server serves. */
export interface ServedVersions {
  readonly cluster: ClusterApiVersion
  /** Undefined where MachinePools are not served. */
  readonly machinePools: ClusterApiVersion | undefined
  /** Undefined where ClusterResourceSets are not served. */
  readonly resourceSets: ClusterApiVersion | undefined
}

interface ControllerPorts {
  readonly groups: readonly ControllerGroup[]
  readonly versions: ServedVersions
  readonly objects: Objects
  readonly events: Events
  readonly cache: Cache
  /** Undefined where the infrastructure group does not run. */
  readonly engine: Engine | undefined
  readonly workloads: Workloads
  readonly reach: (kubeconfig: string) => Promise<string | undefined>
  /** Fetches an install file that a pipeline names. */
  readonly fetchText: (url: string) => Promise<string>
  readonly homeNamespace: string
  /** False for what another manager serves. */
  readonly accepts: (object: { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } }) => boolean
  readonly watchSecrets: boolean
  /** Terraform runs beside the manager, with its identity: for one namespace only. */
  readonly singleTenant: boolean
  readonly approval: ApprovalOptions
  readonly instances: Instances
  readonly aws: Aws & ClusterNames & Partial<ClusterDescriptions>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Has a controller look at an object again. */
  wake(controller: string, key: Key): void
}

interface Controllers {
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
      captClusterController({ clusterKind: cluster, ...(engine.name === 'simulated' ? {} : { aws: ports.aws }) }),
      workspaceApplyController({
        engine,
        clusterKind: cluster,
        singleTenant: ports.singleTenant,
        approval: ports.approval,
      }),
      workspaceTemplateController(),
      captBootstrapConfigController({ clusterKind: cluster }),
      captMachineController({ clusterKind: cluster, machineKind: machineKind(versions.cluster), workloads }),
      captMachineSetController({ clusterKind: cluster }),
      captMachineDeploymentController({ clusterKind: cluster }),
    )
    if (versions.machinePools)
      all.push(
        captMachinePoolController({
          clusterKind: cluster,
          machinePoolKind: machinePoolKind(versions.machinePools),
          workloads,
          aws: ports.aws,
          clock,
        }),
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
      workerKinds: [CAPTMachineDeployment, CAPTMachineSet, CAPTMachine, CAPTMachinePool],
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
      fetchText: ports.fetchText,
      wake: (key) => ports.wake(DELIVERY_CONTROLLER, key),
      instances: ports.instances,
    })
    stops.push(() => deliveries.stop())
    all.push(addonPipelineController({ ...homes, acceptsCluster: ports.accepts }), deliveries)
  }
  return {
    all,
    stop() {
      for (const stop of stops) stop()
    },
  }
}
