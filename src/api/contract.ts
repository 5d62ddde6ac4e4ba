// The fields we share with Cluster API, named once, by contract version. Other modules read a Cluster as plain
// facts, in whichever version the server sent it, and ask here what the contract defines (paused, managed, moved).
import { fieldsOf, jsonEqual } from '#lib'
import type { AnyObject, Key, OwnerReference } from './object.ts'

export const CLUSTER_GROUP = 'cluster.x-k8s.io'
export const CLUSTER_NAME_LABEL = 'cluster.x-k8s.io/cluster-name'
export const PAUSED_ANNOTATION = 'cluster.x-k8s.io/paused'
const MANAGED_BY_ANNOTATION = 'cluster.x-k8s.io/managed-by'
export const BLOCK_MOVE_ANNOTATION = 'clusterctl.cluster.x-k8s.io/block-move'
export const DELETE_FOR_MOVE_ANNOTATION = 'clusterctl.cluster.x-k8s.io/delete-for-move'
/** On a MachinePool: who owns its replicas. */
export const REPLICAS_MANAGED_BY_ANNOTATION = 'cluster.x-k8s.io/replicas-managed-by'
export const MOVE_LABEL = 'clusterctl.cluster.x-k8s.io/move'
/** How v1beta1 reports that the control plane was reached once. */
export const CONTROL_PLANE_INITIALIZED = 'ControlPlaneInitialized'
/** Type of every Secret that belongs to a Cluster (kubeconfig, CA). */
export const CLUSTER_SECRET_TYPE = 'cluster.x-k8s.io/secret'

export const CLUSTER_FINALIZER = 'infrastructure.cluster.x-k8s.io/captcluster'
export const MACHINE_POOL_FINALIZER = 'infrastructure.cluster.x-k8s.io/captmachinepool'
export const CONTROL_PLANE_FINALIZER = 'controlplane.cluster.x-k8s.io/captcontrolplane'

export interface Endpoint {
  readonly host: string
  readonly port: number
}

/** Group and kind without a version: the version is found by discovery or by the contract label. */
export interface ContractRef {
  readonly group: string
  readonly kind: string
  readonly name: string
}

/** What we need to know about a Cluster, the same for every version it is served in. */
export interface ClusterFacts {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly paused: boolean
  readonly deleting: boolean
  readonly deletionTimestamp: string | undefined
  readonly infrastructureProvisioned: boolean
  readonly controlPlaneInitialized: boolean
  readonly infrastructureRef: ContractRef | undefined
  readonly controlPlaneRef: ContractRef | undefined
  readonly endpoint: Endpoint | undefined
  readonly topology: { readonly className: string; readonly version: string } | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

type Fields = Readonly<Record<string, unknown>>
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

export function readCluster(object: AnyObject): ClusterFacts {
  const { spec, status } = object as AnyObject & { readonly spec?: unknown; readonly status?: unknown }
  const wanted = fieldsOf(spec)
  const found = fieldsOf(status)
  const { metadata } = object
  const read = object.apiVersion.endsWith('/v1beta1') ? readV1Beta1 : readV1Beta2
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid ?? '',
    paused: wanted['paused'] === true,
    deleting: metadata.deletionTimestamp !== undefined,
    deletionTimestamp: metadata.deletionTimestamp,
    infrastructureRef: readRef(wanted['infrastructureRef']),
    controlPlaneRef: readRef(wanted['controlPlaneRef']),
    endpoint: readEndpoint(wanted['controlPlaneEndpoint']),
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    ...read(wanted, found),
  }
}

/** A change of a Cluster that alters none of these facts: its conditions come and go with every step of core. */
export function isSameCluster(now: AnyObject, before: AnyObject): boolean {
  return jsonEqual(readCluster(now), readCluster(before))
}

type VersionedFacts = Pick<ClusterFacts, 'infrastructureProvisioned' | 'controlPlaneInitialized' | 'topology'>

function readV1Beta2(spec: Fields, status: Fields): VersionedFacts {
  const initialization = fieldsOf(status['initialization'])
  const topology = fieldsOf(spec['topology'])
  return {
    infrastructureProvisioned: initialization['infrastructureProvisioned'] === true,
    controlPlaneInitialized: initialization['controlPlaneInitialized'] === true,
    topology: readTopology(fieldsOf(topology['classRef'])['name'], topology['version']),
  }
}

function readV1Beta1(spec: Fields, status: Fields): VersionedFacts {
  const topology = fieldsOf(spec['topology'])
  return {
    infrastructureProvisioned: status['infrastructureReady'] === true,
    controlPlaneInitialized: hasTrueCondition(status['conditions'], CONTROL_PLANE_INITIALIZED),
    topology: readTopology(topology['class'], topology['version']),
  }
}

export function readEndpoint(value: unknown): Endpoint | undefined {
  const { host, port } = fieldsOf(value)
  // v1beta1 always writes both keys; zero values mean unset.
  return typeof host === 'string' && host !== '' && typeof port === 'number' && port > 0 ? { host, port } : undefined
}

/** v1beta2 writes `apiGroup`, v1beta1 a full `apiVersion`. */
export function readRef(value: unknown): ContractRef | undefined {
  const { apiGroup, apiVersion, kind, name } = fieldsOf(value)
  if (textOf(kind) === '' || textOf(name) === '') return undefined
  return { group: textOf(apiGroup) || groupOf(textOf(apiVersion)), kind: textOf(kind), name: textOf(name) }
}

function readTopology(className: unknown, version: unknown): ClusterFacts['topology'] {
  return textOf(className) === '' ? undefined : { className: textOf(className), version: textOf(version) }
}

/** `apps` of `apps/v1`; empty for the core group. */
export function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
}

export function hasTrueCondition(conditions: unknown, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True'
}

interface ForeignCondition {
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly observedGeneration?: number
}

/** Reads a condition leniently: foreign objects may lack reason or message. */
export function findCondition(conditions: unknown, type: string): ForeignCondition | undefined {
  if (!Array.isArray(conditions)) return undefined
  const found = fieldsOf(conditions.find((item) => fieldsOf(item)['type'] === type))
  if (found['type'] !== type) return undefined
  const { observedGeneration } = found
  return {
    status: textOf(found['status']),
    reason: textOf(found['reason']),
    message: textOf(found['message']),
    ...(typeof observedGeneration === 'number' ? { observedGeneration } : {}),
  }
}

/** The owner reference to a Cluster, of whatever version. Never found by equal names. */
export function clusterOwnerOf(object: AnyObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find(
    (owner) => owner.kind === 'Cluster' && groupOf(owner.apiVersion) === CLUSTER_GROUP,
  )
}

export function clusterKeyOf(object: AnyObject): Key | undefined {
  const owner = clusterOwnerOf(object)
  if (!owner) return undefined
  const { namespace } = object.metadata
  return namespace === undefined ? { name: owner.name } : { namespace, name: owner.name }
}

/** What keeps an object from being worked on, in words; undefined when nothing does. */
export function pauseOf(cluster: Pick<ClusterFacts, 'paused'> | undefined, object: AnyObject): string | undefined {
  const causes = [
    cluster?.paused ? 'Cluster spec.paused is set to true' : undefined,
    PAUSED_ANNOTATION in (object.metadata.annotations ?? {})
      ? `${object.kind} has the ${PAUSED_ANNOTATION} annotation`
      : undefined,
  ].filter((cause) => cause !== undefined)
  return causes.length === 0 ? undefined : causes.join(', ')
}

/** Another controller reconciles this object; capt changes neither it nor its status. */
export function isExternallyManaged(object: AnyObject): boolean {
  return MANAGED_BY_ANNOTATION in (object.metadata.annotations ?? {})
}

/** It is deleted because it lives elsewhere now: its infrastructure must stay. */
export function isDeletedForMove(object: AnyObject): boolean {
  return DELETE_FOR_MOVE_ANNOTATION in (object.metadata.annotations ?? {})
}

export function blocksMove(object: AnyObject): boolean {
  return BLOCK_MOVE_ANNOTATION in (object.metadata.annotations ?? {})
}

export const kubeconfigSecretName = (cluster: string): string => `${cluster}-kubeconfig`
export const userKubeconfigSecretName = (cluster: string): string => `${cluster}-user-kubeconfig`
export const caSecretName = (cluster: string): string => `${cluster}-ca`
