// Generated from the files of this folder by npm run generate. Do not edit.
// ALL_KINDS is what gets a CRD, roles, a reference page and a name on the command line.
import type { Kind } from '../define-kind.ts'
import { AddonDelivery } from './addon-delivery.ts'
import { AddonPipeline } from './addon-pipeline.ts'
import { CAPTCluster } from './capt-cluster.ts'
import { CAPTClusterTemplate } from './capt-cluster-template.ts'
import { CAPTControlPlane } from './capt-control-plane.ts'
import { CAPTControlPlaneTemplate } from './capt-control-plane-template.ts'
import { CAPTMachine } from './machines/capt-machine.ts'
import { CAPTMachineDeployment } from './machines/capt-machine-deployment.ts'
import { CAPTMachineSet } from './machines/capt-machine-set.ts'
import { CAPTMachineTemplate } from './machines/capt-machine-template.ts'
import { CAPTBootstrapConfig } from './pools/capt-bootstrap-config.ts'
import { CAPTBootstrapConfigTemplate } from './pools/capt-bootstrap-config-template.ts'
import { CAPTMachinePool } from './pools/capt-machine-pool.ts'
import { CAPTMachinePoolTemplate } from './pools/capt-machine-pool-template.ts'
import { WorkspaceTemplate } from './workspace-template.ts'
import { WorkspaceTemplateApply } from './workspace-template-apply.ts'

export * from './addon-delivery.ts'
export * from './addon-pipeline.ts'
export * from './capt-cluster.ts'
export * from './capt-cluster-template.ts'
export * from './capt-control-plane.ts'
export * from './capt-control-plane-template.ts'
export * from './machines/capt-machine.ts'
export * from './machines/capt-machine-deployment.ts'
export * from './machines/capt-machine-set.ts'
export * from './machines/capt-machine-template.ts'
export * from './pools/capt-bootstrap-config.ts'
export * from './pools/capt-bootstrap-config-template.ts'
export * from './pools/capt-machine-pool.ts'
export * from './pools/capt-machine-pool-template.ts'
export * from './workspace-template.ts'
export * from './workspace-template-apply.ts'

export const ALL_KINDS: readonly Kind[] = [
  AddonDelivery,
  AddonPipeline,
  CAPTCluster,
  CAPTClusterTemplate,
  CAPTControlPlane,
  CAPTControlPlaneTemplate,
  CAPTMachine,
  CAPTMachineDeployment,
  CAPTMachineSet,
  CAPTMachineTemplate,
  CAPTBootstrapConfig,
  CAPTBootstrapConfigTemplate,
  CAPTMachinePool,
  CAPTMachinePoolTemplate,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
]
