// Builders, fakes, a hand-wound clock and ledgers. Opened by tests alone.
export * from './applies.ts'
export * from './clock.ts'
export * from './damage.ts'
export * from './faulty-server.ts'
export * from './from-schema.ts'
export * from './log.ts'
export * from './memory-cluster.ts'
export * from './metrics.ts'
