// The nouns: kinds, their schemas and the words shared by everybody who speaks about objects.
export * from './define-kind.ts'
export type { CompiledSchema, Fault, FaultType, SchemaEngine } from './engine.ts'
export * from './foreign.ts'
export { conditions, objectRef, templateMetadata } from './meta.ts'
export * from './object.ts'
export type { JsonSchema, Rule } from './schema.ts'
export * as s from './schema.ts'
