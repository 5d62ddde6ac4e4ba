// One folder per kind: observe, decide, act, status. Controllers are started by the registry.

export { measureStages } from './addon-delivery/metrics.ts'
export {
  CLUSTER_LABEL,
  CONFIRM_REMOVAL_ANNOTATION,
  deliveryName,
  SOURCE_LABEL,
} from './addon-delivery/names.ts'
export { fluxManifests } from './addon-delivery/stages/flux/for-others.ts'
export { planWithdrawal, type Withdrawal } from './addon-delivery/stages/withdrawal.ts'
export { type ClusterTeardown, clusterTeardown } from './addon-delivery/teardown/cluster.ts'
export { defaultPipeline } from './addon-pipeline/default-pipeline.ts'
export { vpcRequest } from './cluster/variables.ts'
export { clusterSecretInformer } from './control-plane/index.ts'
export { eksApplyName, eksRequest, networkOf, regionOf } from './control-plane/variables.ts'
export { controllersOf, type ServedVersions } from './registry.ts'
export { awsInstances, eitherInstances } from './shared/aws/instances.ts'
export { awsPlaceOf, identityAt } from './shared/aws/place.ts'
export { informerOf } from './shared/projections.ts'
export * from './shared/workload.ts'
export { type ApprovalOptions, DEFAULT_APPROVAL } from './workspace-apply/approval/approval.ts'
export { measureRuns } from './workspace-apply/metrics.ts'
