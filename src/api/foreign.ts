// Kinds of other projects that capt reads or writes: their address and the few fields we touch.
import { pluralOf } from '#lib'
import type { AnyObject, KindRef } from './object.ts'

/** The address of a kind; `apiVersion` is `apps/v1`, or `v1` for the core group. */
export function kindRef(apiVersion: string, kind: string, namespaced = true): KindRef {
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1)
  return { group: apiVersion.slice(0, -version.length - 1), version, kind, plural: pluralOf(kind), namespaced }
}

export const SecretKind = kindRef('v1', 'Secret')
export const ConfigMapKind = kindRef('v1', 'ConfigMap')
export const NamespaceKind = kindRef('v1', 'Namespace', false)
export const NodeKind = kindRef('v1', 'Node', false)
export const PodKind = kindRef('v1', 'Pod')
export const ServiceKind = kindRef('v1', 'Service')
export const ServiceAccountKind = kindRef('v1', 'ServiceAccount')
/** As controllers of Kubernetes itself write them. */
export const CoreEventKind = kindRef('v1', 'Event')
export const DeploymentKind = kindRef('apps/v1', 'Deployment')
export const JobKind = kindRef('batch/v1', 'Job')
export const RoleKind = kindRef('rbac.authorization.k8s.io/v1', 'Role')
export const RoleBindingKind = kindRef('rbac.authorization.k8s.io/v1', 'RoleBinding')
export const EventKind = kindRef('events.k8s.io/v1', 'Event')
export const LeaseKind = kindRef('coordination.k8s.io/v1', 'Lease')
export const CustomResourceDefinitionKind = kindRef('apiextensions.k8s.io/v1', 'CustomResourceDefinition', false)
export const SelfSubjectAccessReviewKind = kindRef('authorization.k8s.io/v1', 'SelfSubjectAccessReview', false)
export const SelfSubjectReviewKind = kindRef('authentication.k8s.io/v1', 'SelfSubjectReview', false)
export type SelfSubjectReview = AnyObject & { readonly status?: { readonly userInfo?: { readonly username?: string } } }

/** Versions of Cluster API's own groups that we speak, best first. The served one is found by discovery. */
export const CLUSTER_API_VERSIONS = ['v1beta2', 'v1beta1'] as const
export type ClusterApiVersion = (typeof CLUSTER_API_VERSIONS)[number]

const clusterApiKind = (group: string, kind: string) => (version: ClusterApiVersion) =>
  kindRef(`${group}/${version}`, kind)

export const clusterKind = clusterApiKind('cluster.x-k8s.io', 'Cluster')
export const machinePoolKind = clusterApiKind('cluster.x-k8s.io', 'MachinePool')
export const machineKind = clusterApiKind('cluster.x-k8s.io', 'Machine')
export const clusterResourceSetKind = clusterApiKind('addons.cluster.x-k8s.io', 'ClusterResourceSet')
export const clusterResourceSetBindingKind = clusterApiKind('addons.cluster.x-k8s.io', 'ClusterResourceSetBinding')

export interface Secret extends AnyObject {
  readonly type?: string
  readonly data?: Readonly<Record<string, string>>
  readonly stringData?: Readonly<Record<string, string>>
  readonly immutable?: boolean
}

/** The values of a Secret as text. */
export const decodeData = (data: Secret['data'] = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]))

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
