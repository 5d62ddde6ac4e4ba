// What capt knows about EKS, Flux and Karpenter: data with sources and dates, and pure functions over it.
export { fluxLineOfChart } from './flux-chart.ts'
export * from './flux-releases.ts'
export { EVENT_RULES, type EventRule, type InterruptionQueue, interruptionQueue, queuePolicy } from './interruption.ts'
export { adviseNamespace, chartName, chartTag, chartUrl, crdChartName, ociUrl } from './karpenter-chart.ts'
export { KARPENTER_DEFINITIONS, type KarpenterDefinition } from './karpenter-definitions.ts'
export { checkRoleName, type KarpenterNames, karpenterNames, ruleName } from './karpenter-names.ts'
export {
  DEFAULT_RESOURCES,
  type Identity,
  type KarpenterValuesInput,
  ROLE_ANNOTATION,
  renderKarpenterValues,
  SERVICE_ACCOUNT,
} from './karpenter-values.ts'
export {
  type Component,
  checkPair,
  defaultKubernetes,
  defaultVersionsFor,
  eksRows,
  eksState,
  type MatrixFault,
  type Pair,
  rowFor,
  type SupportState,
  supportRows,
  supports,
  versionsFor,
} from './matrix.ts'
export { type EksRow, type MatrixRow, matrix, type SupportRow } from './matrix-data.ts'
export { contradictions, staleRows } from './matrix-faults.ts'
export {
  DEFAULT_POOL,
  DISCOVERY_TAG,
  defaultNodeClass,
  defaultNodePool,
  type NodePoolObject,
  type NodePoolSpec,
  roleNameOf,
} from './node-pools.ts'
export { type Partition, partitionNames, partitionOf, partitionOfRegion } from './partitions.ts'
export {
  type Affinity,
  checkNodeSelector,
  type MatchExpression,
  mergeGuard,
  type NodeSelectorTerm,
  PLACEMENT_GUARD,
} from './placement.ts'
export { type PoolNodes, placementConflicts } from './placement-conflict.ts'
export {
  affinityMatches,
  canRunOn,
  type Placement,
  type PlacementNode,
  type Taint,
  type Toleration,
} from './placement-match.ts'
export {
  type ControllerPolicy,
  controllerPolicy,
  INLINE_POLICY_LIMIT,
  inlineControllerPolicy,
  joinedPolicy,
  MANAGED_POLICY_LIMIT,
  type PolicyDocument,
  sizeOf,
} from './policies.ts'
export type { PolicyPart, PolicyScope, Statement } from './policy-statements.ts'
export {
  adviseIdentity,
  type ControllerTrustInput,
  controllerTrust,
  issuerHost,
  nodeRolePolicies,
  nodeTrust,
  oidcProviderArn,
  type TrustPolicy,
} from './roles.ts'
export { codeForText, SYMPTOMS, type Symptom } from './symptoms.ts'
export { AWS_SETTINGS, lintValues, RETIRED, type Retired, type ValueFinding } from './values-lint.ts'
export { mergeValues, type Values } from './values-merge.ts'
export { byNewest, compareVersions, isAtLeast, lineOf, parseVersion, toVersion, type Version } from './version.ts'
