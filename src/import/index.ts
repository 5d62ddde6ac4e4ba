// An import from the older project: what becomes of each object, which state belongs to which apply, and the steps that
// bring both to a management cluster.
export { type ManagedAdoption, planManagedAdoption, refuseFirstPlan } from './adopt.ts'
export { annotated, checkTarget, land, paused, place, resume, withdraw } from './land.ts'
export { type Given, isRefused, type Mapped, mapObjects } from './map.ts'
export type { Outcome } from './outcome.ts'
export { type Assignment, assignStates, isStateObject, readStates } from './states.ts'
export { surveyOlder } from './survey.ts'
