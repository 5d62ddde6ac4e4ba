// Builders, fakes, a hand-wound clock and ledgers. Opened by tests alone.
export * from './clock.ts'
