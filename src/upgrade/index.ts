// Upgrades of clusters in lockstep: what has to move before Kubernetes does, step by step, one cluster or many in waves.
export { type Outcome, performUpgrade, type UpgradePorts } from './perform.ts'
export { planUpgrade, type UpgradePlan } from './plan.ts'
export { complaintOf, readState } from './state.ts'
export { type FleetOutcome, groupWaves, performWaves } from './waves.ts'
