// Builds the real world and hands it to commands and controllers; the only place that wires.
export { type ConnectionWish, connectForPeople } from './app-connect.ts'
export { CONTROLLER_GROUPS, type ControllerGroup } from './app-controllers.ts'
export { openCloud } from './app-doctor.ts'
export { type Home, type HomeOptions, startHome } from './app-home.ts'
export {
  type Manager,
  type ManagerOptions,
  startManager,
} from './app-manager.ts'
