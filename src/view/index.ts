// Objects in, tree and rows out. The command line and the dashboard read the same view.
export { applyBranch } from './apply-branch.ts'
export type { Branch, State, Stop } from './branch.ts'
export { stateOf } from './branch.ts'
export { type ClusterObjects, clusterTree } from './cluster-tree.ts'
export { DELIVERY_HEAD, deliveryBranch, deliveryRows } from './delivery-branch.ts'
export { type Examined, type Finding, renderFindings, summarizeFindings, type Weight } from './findings.ts'
export { type Moment, momentsOf, runningApply } from './moments.ts'
export { plain, type RenderOptions, renderStops, renderTable, renderTree } from './render.ts'
