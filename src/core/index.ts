// What core Cluster API does, for the embedded home only.
export { type ClusterControllerOptions, clusterController, storedClusterKind } from './cluster-controller.ts'
export { convertCluster } from './cluster-convert.ts'
export { type ClusterDefinition, clusterDefinition } from './cluster-crd.ts'
export { resourceSetController } from './resource-set.ts'
export { resourceSetBindingController } from './resource-set-binding-controller.ts'
export { convertResourceSet, convertResourceSetBinding } from './resource-set-convert.ts'
export { type ResourceSetDefinition, resourceSetDefinitions } from './resource-set-crd.ts'
export type { RemoteClusters } from './resource-set-write.ts'
