// Karpenter on clusters that already exist: objects and values of older versions brought to the current ones.
export { type Converted, type ConvertOptions, convert } from './convert.ts'
export { type Finding, isRefused, type Level, needsPerson } from './finding.ts'
export { type Manifest, readManifests, type Source } from './manifests.ts'
export { type MigratedValues, migrateValues } from './migrate-values.ts'
export { PLACEHOLDER } from './variables.ts'
