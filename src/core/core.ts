// All that stands in for core Cluster API: definitions, conversions and controllers.
import type { Key } from '#api'
import type { Objects } from '#kube'
import { clusterController } from './cluster/controller.ts'
import { convertCluster } from './cluster/convert.ts'
import { clusterDefinition } from './cluster/crd.ts'
import { machinePoolController } from './machine-pool/controller.ts'
import { convertMachinePool } from './machine-pool/convert.ts'
import { machinePoolDefinition } from './machine-pool/crd.ts'
import { resourceSetBindingController } from './resource-set/binding-controller.ts'
import { resourceSetController } from './resource-set/controller.ts'
import { convertResourceSet, convertResourceSetBinding } from './resource-set/convert.ts'
import { resourceSetDefinitions } from './resource-set/crd.ts'

export const coreDefinitions = () => [clusterDefinition(), machinePoolDefinition(), ...resourceSetDefinitions()]

/** By group and kind. An API server asks only for versions that a definition serves. */
export const CORE_CONVERTERS = {
  'cluster.x-k8s.io/Cluster': convertCluster,
  'cluster.x-k8s.io/MachinePool': convertMachinePool,
  'addons.cluster.x-k8s.io/ClusterResourceSet': convertResourceSet,
  'addons.cluster.x-k8s.io/ClusterResourceSetBinding': convertResourceSetBinding,
}

interface CorePorts {
  /** Answers undefined when the API server behind a kubeconfig answers, else why not. */
  readonly reach: (kubeconfig: string) => Promise<string | undefined>
  readonly workloads: { open(cluster: Key): Promise<{ readonly objects: Objects } | undefined> }
}

export function coreControllers({ reach, workloads }: CorePorts) {
  const connect = async (cluster: Key) => {
    const workload = await workloads.open(cluster)
    if (!workload) throw new Error(`${cluster.namespace}/${cluster.name} has no kubeconfig yet`)
    return workload.objects
  }
  return [
    clusterController({ reach }),
    machinePoolController(),
    resourceSetController({ connect }),
    resourceSetBindingController(),
  ]
}
