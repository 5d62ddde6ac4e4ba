// What capt knows about EKS, Flux and Karpenter: data with sources and dates, and pure functions over it.
export { fluxLineOfChart } from './flux/chart.ts'
export { FLUX_FINALIZER, fluxChart } from './flux/chart-objects.ts'
export * from './flux/releases.ts'
export {
  NEEDED_POLICIES,
  type NeededPolicy,
  neededActions,
  neededPolicy,
  type ScopedActions,
} from './iam/needs/needs.ts'
export { INLINE_POLICY_LIMIT, inlineControllerPolicy, joinedPolicy, sizeOf } from './iam/policies.ts'
export { controllerTrust, nodeRolePolicies, nodeTrust } from './iam/roles.ts'
export { chartTag, chartUrl, KARPENTER_RELEASE, karpenterChart } from './karpenter/chart.ts'
export { KARPENTER_DEFINITIONS } from './karpenter/definitions.ts'
export { EVENT_RULES, interruptionQueue, queuePolicy } from './karpenter/interruption.ts'
export { karpenterNames, ruleName } from './karpenter/names.ts'
export {
  autoModeClassName,
  autoModeNodeClass,
  DISCOVERY_TAG,
  defaultNodeClass,
  defaultNodePool,
  type NodePoolObject,
  roleNameOf,
} from './karpenter/node-pools.ts'
export { type KarpenterValuesInput, renderKarpenterValues } from './karpenter/values.ts'
export { AWS_SETTINGS, RETIRED } from './karpenter/values-lint.ts'
export { mergeValues, type Values } from './karpenter/values-merge.ts'
export { type MatrixRow, matrix, type SupportRow } from './matrix/data.ts'
export { contradictions } from './matrix/faults.ts'
export { evidenceOf, type RunningComponent, type Stranded, strandedBy } from './matrix/lockstep.ts'
export {
  COMPONENT_NAMES,
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
} from './matrix/matrix.ts'
export { ec2ServiceOf, partitionNames, partitionOfRegion } from './partitions.ts'
export { affinityMatches, canRunOn, type Placement, type PlacementNode } from './placement/match.ts'
export { type Affinity, mergeGuard } from './placement/placement.ts'
export { PRICES } from './prices.ts'
export { codeForText, SYMPTOMS } from './symptoms.ts'
export { byNewest, compareVersions, isAtLeast, lineOf, parseVersion, toVersion } from './version.ts'
