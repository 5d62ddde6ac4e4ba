// Speaking to an API server.
export { type Credentials, fixedCredentials, type Identity, type ServerAccess } from './access.ts'
export type { Exchange, Verb } from './calls.ts'
export { type Client, type ClientOptions, createClient, type RawAnswer, type RawInit } from './client.ts'
export { type Connection, type ConnectOptions, connect } from './connect.ts'
export type { Incident } from './informer.ts'
export type { FedInformers, InformerCounts, InformersOptions } from './informers.ts'
export { matchesLabels } from './labels.ts'
export * from './port.ts'
