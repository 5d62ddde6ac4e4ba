// Builds the real world and hands it to commands and controllers; the only place that wires.
import type { Home, HomeOptions } from './app-home.ts'

export { type ConnectionWish, connectForPeople } from './app-connect.ts'
export { CONTROLLER_GROUPS, type ControllerGroup } from './app-controllers.ts'
export { openCloud } from './app-doctor.ts'
export {
  type Manager,
  type ManagerOptions,
  startManager,
} from './app-manager.ts'
export type { Home, HomeOptions }

/** Loaded on demand: a manager in a cluster has neither an API server of its own nor a simulation, and little memory. */
export async function startHome(options: HomeOptions): Promise<Home> {
  return await (await import('./app-home.ts')).startHome(options)
}
