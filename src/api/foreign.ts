// Kinds of other projects that capt reads or writes: their address and the few fields we touch.
import type { AnyObject, KindRef } from './object.ts'

const core = (kind: string, plural: string, namespaced = true): KindRef => ({
  group: '',
  version: 'v1',
  kind,
  plural,
  namespaced,
})

export const SecretKind = core('Secret', 'secrets')
export const ConfigMapKind = core('ConfigMap', 'configmaps')
export const NamespaceKind = core('Namespace', 'namespaces', false)
export const NodeKind = core('Node', 'nodes', false)
export const PodKind = core('Pod', 'pods')
export const ServiceKind = core('Service', 'services')
export const EventKind: KindRef = {
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
}
export const LeaseKind: KindRef = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
}
export const DeploymentKind: KindRef = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}
export const CustomResourceDefinitionKind: KindRef = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

/** Versions of Cluster API's own groups that we speak, best first. The served one is found by discovery. */
export const CLUSTER_API_VERSIONS = ['v1beta2', 'v1beta1'] as const
export type ClusterApiVersion = (typeof CLUSTER_API_VERSIONS)[number]

export const clusterKind = (version: ClusterApiVersion): KindRef => ({
  group: 'cluster.x-k8s.io',
  version,
  kind: 'Cluster',
  plural: 'clusters',
  namespaced: true,
})
export const clusterResourceSetKind = (version: ClusterApiVersion): KindRef => ({
  group: 'addons.cluster.x-k8s.io',
  version,
  kind: 'ClusterResourceSet',
  plural: 'clusterresourcesets',
  namespaced: true,
})
export const clusterResourceSetBindingKind = (version: ClusterApiVersion): KindRef => ({
  group: 'addons.cluster.x-k8s.io',
  version,
  kind: 'ClusterResourceSetBinding',
  plural: 'clusterresourcesetbindings',
  namespaced: true,
})

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
