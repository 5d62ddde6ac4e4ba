// Labels, annotations and kinds of the simulation.
import { kindRef } from '#api'

/** On everything that an actor makes. */
const SIMULATED = 'capt.appthrust.com/simulated'
/** On a Cluster: `workload` asks for a simulated workload cluster. */
export const SIMULATION_LABEL = 'capt.appthrust.com/simulation'
/** On an object of the workload: one fault for it, as in the ConfigMap of faults. */
export const FAULT_ANNOTATION = 'capt.appthrust.com/fault'
/** In the workload: `<object name>: <fault>`. */
export const FAULTS = { namespace: 'kube-system', name: 'capt-simulation' } as const

export const EndpointSliceKind = kindRef('discovery.k8s.io/v1', 'EndpointSlice')
export const IngressKind = kindRef('networking.k8s.io/v1', 'Ingress')
export const PodDisruptionBudgetKind = kindRef('policy/v1', 'PodDisruptionBudget')
export const OCIRepositoryKind = kindRef('source.toolkit.fluxcd.io/v1', 'OCIRepository')
export const HelmRepositoryKind = kindRef('source.toolkit.fluxcd.io/v1', 'HelmRepository')
export const HelmReleaseKind = kindRef('helm.toolkit.fluxcd.io/v2', 'HelmRelease')
export const NodePoolKind = kindRef('karpenter.sh/v1', 'NodePool', false)
export const NodeClaimKind = kindRef('karpenter.sh/v1', 'NodeClaim', false)
/** The class of EKS Auto Mode. */
export const NodeClassKind = kindRef('eks.amazonaws.com/v1', 'NodeClass', false)
export const EC2NodeClassKind = kindRef('karpenter.k8s.aws/v1', 'EC2NodeClass', false)

export const simulated = { [SIMULATED]: 'true' } as const
