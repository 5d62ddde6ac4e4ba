// The loop: queue, reconcile, backoff, leader election.

export * from './controller.ts'
export * from './decision.ts'
export * from './election/election.ts'
export * from './election/fenced.ts'
export * from './finalizers.ts'
export * from './lifecycle.ts'
export * from './owners.ts'
export { createReconcile } from './reconcile.ts'
export * from './run-controllers.ts'
export { warnCluster } from './status/cluster-events.ts'
export * from './status/conditions.ts'
export * from './watch-filter.ts'
