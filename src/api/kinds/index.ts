// Every kind that capt serves. ALL_KINDS is what gets a CRD, a reference page and a place in `capt explain`.
import type { Kind } from '../define-kind.ts'
import { AddonDelivery } from './addon-delivery.ts'
import { AddonPipeline } from './addon-pipeline.ts'
import { CAPTCluster } from './capt-cluster.ts'
import { CAPTClusterTemplate } from './capt-cluster-template.ts'
import { CAPTControlPlane } from './capt-control-plane.ts'
import { CAPTControlPlaneTemplate } from './capt-control-plane-template.ts'
import { WorkspaceTemplate } from './workspace-template.ts'
import { WorkspaceTemplateApply } from './workspace-template-apply.ts'

export { AddonDelivery, type StageStatus, type TeardownStatus, type TeardownStep } from './addon-delivery.ts'
export { type AddonCheck, AddonPipeline, type AddonStage, type VariableSource } from './addon-pipeline.ts'
export { CAPTCluster } from './capt-cluster.ts'
export { CAPTClusterTemplate } from './capt-cluster-template.ts'
export { CAPTControlPlane } from './capt-control-plane.ts'
export { CAPTControlPlaneTemplate } from './capt-control-plane-template.ts'
export * from './workspace-template.ts'
export * from './workspace-template-apply.ts'

export const ALL_KINDS: readonly Kind[] = [
  CAPTCluster,
  CAPTClusterTemplate,
  CAPTControlPlane,
  CAPTControlPlaneTemplate,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
  AddonPipeline,
  AddonDelivery,
]
