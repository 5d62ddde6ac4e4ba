// Pipelines and deliveries of add-ons: order, gates, health, rendering, teardown.
export { addonDeliveryController, DELIVERY_CONTROLLER, type DeliveryController } from './addon-delivery.ts'
export { addonPipelineController, type PipelinePorts } from './addon-pipeline.ts'
export {
  type ClusterTeardown,
  type ClusterTeardownPorts,
  clusterTeardown,
  type TeardownPhase,
  type TeardownProgress,
} from './cluster-teardown.ts'
export { defaultPipeline, FLUX_WISH, KARPENTER_GATE, KARPENTER_WISH, NODE_POOL_WISH } from './default-pipeline.ts'
export type { DeliveryPorts } from './delivery-ports.ts'
export {
  CLUSTER_LABEL,
  DEFAULT_PIPELINE,
  deliveryName,
  PIPELINE_CHOICE_LABEL,
  SOURCE_LABEL,
  STAGE_LABEL,
} from './names.ts'
export * from './port.ts'
