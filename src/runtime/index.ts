// The loop: queue, reconcile, backoff, leader election.
export * from './controller.ts'
export * from './decision.ts'
