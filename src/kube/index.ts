// Speaking to an API server.
export { type Credentials, fixedCredentials, type Identity, type ServerAccess } from './access.ts'
export { toKubeError } from './answers.ts'
export type { Exchange, Verb } from './calls.ts'
export { type Client, type ClientOptions, createClient, type RawAnswer, type RawInit } from './client.ts'
export { type Connection, type ConnectOptions, connect } from './connect.ts'
export { type Discovery, discover } from './discovery.ts'
export { createEvents, type EventRecorder, type EventsOptions } from './events.ts'
export type { Incident } from './informer.ts'
export type { FedInformers, InformerCounts, InformersOptions } from './informers.ts'
export {
  type AccessOptions,
  findAccess,
  type InClusterOptions,
  inClusterAccess,
  isInCluster,
  isServiceAccountChosen,
  loadKubeconfig,
  readKubeconfigText,
  type TextOptions,
} from './kubeconfig.ts'
export { toSingleContext } from './kubeconfig-context.ts'
export { matchesLabels } from './labels.ts'
export * from './port.ts'
export {
  type CertificateAuth,
  type ExecAuth,
  type KubeconfigParts,
  type TokenAuth,
  toKubeconfigText,
} from './render-kubeconfig.ts'
