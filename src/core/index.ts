// What core Cluster API does, for the embedded home only.
export { type ClusterControllerOptions, clusterController, storedClusterKind } from './cluster-controller.ts'
export { convertCluster } from './cluster-convert.ts'
export { type ClusterDefinition, clusterDefinition } from './cluster-crd.ts'
