// One folder per kind: observe, decide, act, status.
export { type CaptClusterOptions, captClusterController } from './cluster/index.ts'
export { resolveIdentity } from './control-plane/identity.ts'
export {
  type CaptControlPlaneController,
  type CaptControlPlaneOptions,
  captControlPlaneController,
  clusterSecretInformer,
} from './control-plane/index.ts'
export { eksApplyName, identityOf, networkOf, regionOf } from './control-plane/variables.ts'
export { type WorkspaceApplyOptions, workspaceApplyController } from './workspace-apply/index.ts'
export { workspaceTemplateController } from './workspace-template/index.ts'
