// A move of clusters to another management API: which objects go, in which order, and the steps that change something.
export { isCluster, type Node, nameOf } from './graph.ts'
export { differs, type Payload, pack } from './payload.ts'
export { copyAll, deleteAll, setPaused, waitForRuns } from './steps.ts'
export { chooseClusters, kindsServedBy, readAll, refuseCoreMachines, refuseTaken, shippedPipeline } from './survey.ts'
