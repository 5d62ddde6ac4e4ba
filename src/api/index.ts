// Kinds, their schemas, and what all modules that handle objects share.
export { checkObject } from './check-object.ts'
export { isClusterScoped } from './cluster-scoped.ts'
export { conditionOf, isTrue } from './conditions.ts'
export { ALLOW_NAMESPACES_ANNOTATION, allowsNamespace } from './consent.ts'
export * from './contract.ts'
export { crdName, providerOf, toCustomResourceDefinition } from './crd.ts'
export * from './define-kind.ts'
export * from './foreign.ts'
export { CHECK_DRIFT_ANNOTATION, DRIFT_RESULTS } from './kinds/drift-detection.ts'
export * from './kinds/index.ts'
export {
  APPROVAL_MODES,
  APPROVED_AT_ANNOTATION,
  APPROVED_BY_ANNOTATION,
  APPROVED_PLAN_ANNOTATION,
  DENIED_BY_ANNOTATION,
  DENIED_PLAN_ANNOTATION,
} from './kinds/plan-approval.ts'
export type { StageField } from './kinds/stage-types.ts'
export { type MachinePoolFacts, readMachinePool } from './machine-pool.ts'
export { readDocuments } from './manifest/documents.ts'
export { type Installs, payloadFacts } from './manifest/installers.ts'
export { checkManifests, type Manifest, readManifests, toCaptError } from './manifest/manifest.ts'
export { upgradeManifests } from './manifest/upgrade.ts'
export { toYaml, toYamlDocuments } from './manifest/write.ts'
export { conditions } from './meta.ts'
export { notFound } from './not-found.ts'
export * from './object.ts'
export { pageName, renderReferenceIndex, renderReferencePage } from './reference-page.ts'
export type { JsonSchema, Rule } from './schema/build.ts'
export * as s from './schema/build.ts'
export { compileSchema, schemaFaults } from './schema/compile.ts'
export type { CompiledSchema, Fault } from './schema/index.ts'
export { fieldOfVariable, TERRAFORM_FIELDS } from './terraform-fields.ts'
