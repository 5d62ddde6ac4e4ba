// Kinds of other projects that capt reads or writes: their address and the few fields we touch.
import type { AnyObject, KindRef } from './object.ts'

/** The address of a kind; `apiVersion` is `apps/v1`, or `v1` for the core group. */
export function kindRef(apiVersion: string, kind: string, plural: string, namespaced = true): KindRef {
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1)
  return { group: apiVersion.slice(0, -version.length - 1), version, kind, plural, namespaced }
}

const core = (kind: string, plural: string, namespaced = true): KindRef => kindRef('v1', kind, plural, namespaced)

export const SecretKind = core('Secret', 'secrets')
export const ConfigMapKind = core('ConfigMap', 'configmaps')
export const NamespaceKind = core('Namespace', 'namespaces', false)
export const NodeKind = core('Node', 'nodes', false)
export const PodKind = core('Pod', 'pods')
export const ServiceKind = core('Service', 'services')
export const ServiceAccountKind = core('ServiceAccount', 'serviceaccounts')
/** As controllers of Kubernetes itself write them. */
export const CoreEventKind = core('Event', 'events')
export const JobKind = kindRef('batch/v1', 'Job', 'jobs')
export const RoleKind = kindRef('rbac.authorization.k8s.io/v1', 'Role', 'roles')
export const RoleBindingKind = kindRef('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings')
export const EventKind = kindRef('events.k8s.io/v1', 'Event', 'events')
export const LeaseKind = kindRef('coordination.k8s.io/v1', 'Lease', 'leases')
export const SelfSubjectReviewKind = kindRef(
  'authentication.k8s.io/v1',
  'SelfSubjectReview',
  'selfsubjectreviews',
  false,
)
export const SelfSubjectAccessReviewKind = kindRef(
  'authorization.k8s.io/v1',
  'SelfSubjectAccessReview',
  'selfsubjectaccessreviews',
  false,
)
export type SelfSubjectReview = AnyObject & { readonly status?: { readonly userInfo?: { readonly username?: string } } }
export const DeploymentKind = kindRef('apps/v1', 'Deployment', 'deployments')
export const CustomResourceDefinitionKind = kindRef(
  'apiextensions.k8s.io/v1',
  'CustomResourceDefinition',
  'customresourcedefinitions',
  false,
)

/** Versions of Cluster API's own groups that we speak, best first. The served one is found by discovery. */
export const CLUSTER_API_VERSIONS = ['v1beta2', 'v1beta1'] as const
export type ClusterApiVersion = (typeof CLUSTER_API_VERSIONS)[number]

const clusterApiKind = (group: string, kind: string, plural: string) => (version: ClusterApiVersion) =>
  kindRef(`${group}/${version}`, kind, plural)

export const clusterKind = clusterApiKind('cluster.x-k8s.io', 'Cluster', 'clusters')
export const machinePoolKind = clusterApiKind('cluster.x-k8s.io', 'MachinePool', 'machinepools')
export const machineKind = clusterApiKind('cluster.x-k8s.io', 'Machine', 'machines')
export const clusterResourceSetKind = clusterApiKind(
  'addons.cluster.x-k8s.io',
  'ClusterResourceSet',
  'clusterresourcesets',
)
export const clusterResourceSetBindingKind = clusterApiKind(
  'addons.cluster.x-k8s.io',
  'ClusterResourceSetBinding',
  'clusterresourcesetbindings',
)

export interface Secret extends AnyObject {
  readonly type?: string
  readonly data?: Readonly<Record<string, string>>
  readonly stringData?: Readonly<Record<string, string>>
  readonly immutable?: boolean
}

export interface ConfigMap extends AnyObject {
  readonly data?: Readonly<Record<string, string>>
  readonly binaryData?: Readonly<Record<string, string>>
}

export interface Lease extends AnyObject {
  readonly spec?: {
    readonly holderIdentity?: string
    readonly leaseDurationSeconds?: number
    readonly acquireTime?: string
    readonly renewTime?: string
    readonly leaseTransitions?: number
  }
}
