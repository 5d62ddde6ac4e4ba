// Actors that play a workload cluster. Whatever they make says that it is simulated.
export { type Actors, startActors } from './actors.ts'
export { createSimulation, type Simulation, simulatedWorkloadSecret } from './home.ts'
export { simulatedInstances, simulatedLedger } from './ledger.ts'
export { FAULTS } from './names.ts'
export * from './port.ts'
