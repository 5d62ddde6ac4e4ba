// Being an API server: a Kubernetes-compatible API on loopback, durable in one folder, with isolated realms.
export type { Converters } from './kinds/custom.ts'
export { type ApiServer, type ApiServerOptions, startApiServer } from './server.ts'
