// Speaking to an API server.

export { fixedCredentials, type Identity, type ServerAccess } from './client/access.ts'
export { type Client, createClient } from './client/client.ts'
export { whenRenewed } from './client/credentials.ts'
export {
  askServer,
  kindFinder,
  requireServed,
  type Server,
  servedClusterApi,
  servedKind,
  servedVersions,
  serverOf,
} from './client/discovery.ts'
export { createEvents } from './client/events.ts'
export { type Connection, connect } from './connect.ts'
export { toSingleContext } from './kubeconfig/context.ts'
export {
  type AccessOptions,
  findAccess,
  isServiceAccountChosen,
  loadKubeconfig,
  readKubeconfigText,
} from './kubeconfig/kubeconfig.ts'
export { matchesLabels } from './labels.ts'
export * from './port.ts'
export { type Connected, openSession, type SessionOptions } from './session.ts'
