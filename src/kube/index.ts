// Speaking to an API server.
export * from './port.ts'
