// Actors that play a workload cluster. Whatever they make says that it is simulated.
export { type ActorOptions, type Actors, startActors, type WorkloadConnection } from './actors.ts'
export { type Fault, parseFault } from './faults.ts'
export { createSimulation, realmPath, type Simulation, type SimulationPorts, simulatedWorkloadSecret } from './home.ts'
export {
  type Ledger,
  type SimulatedInstance,
  type SimulatedObject,
  simulatedInstances,
  simulatedLedger,
} from './ledger.ts'
export { FAULT_ANNOTATION, FAULTS, SIMULATED, SIMULATION_LABEL } from './names.ts'
export * from './port.ts'
