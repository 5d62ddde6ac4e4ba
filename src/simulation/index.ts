// Actors that simulate a workload cluster. All that they make is labelled as simulated.
export { type Actors, startActors } from './actors.ts'
export { createSimulation, type Simulation, simulatedWorkloadSecret } from './home.ts'
export { simulatedInstances, simulatedLedger } from './ledger.ts'
export { FAULTS } from './names.ts'
export * from './port.ts'
