// Reads the target of a health check. A kind or object that does not exist is an answer, not an error.
import {
  type AddonCheck,
  type AnyObject,
  CustomResourceDefinitionKind,
  DeploymentKind,
  JobKind,
  type Key,
  type KindRef,
  kindRef,
  NodeKind,
  PodKind,
  type UnknownObject,
} from '#api'
import { isKubeError, type Objects } from '#kube'
import { isPlainObject } from '#lib'

/** A check with what capt adds for its own stages. */
export type Check = AddonCheck & {
  /** Chart version that a HelmRelease must run. */
  readonly version?: string
  /** Pods of a Deployment must not be on nodes with this label. */
  readonly awayFrom?: string
}

export interface ObservedTarget {
  readonly object: UnknownObject | undefined
  /** Pods of an unfinished Deployment, or EndpointSlices of a Service. */
  readonly beside: readonly UnknownObject[]
  /** Nodes on which the pods must not be, but are. */
  readonly misplaced?: readonly string[]
  readonly served: boolean
}

const EndpointSliceKind = kindRef('discovery.k8s.io/v1', 'EndpointSlice')
export const HelmReleaseKind = kindRef('helm.toolkit.fluxcd.io/v2', 'HelmRelease')
export const HelmRepositoryKind = kindRef('source.toolkit.fluxcd.io/v1', 'HelmRepository')
export const OCIRepositoryKind = kindRef('source.toolkit.fluxcd.io/v1', 'OCIRepository')

export interface Target {
  readonly kind: KindRef
  readonly key: Key
}

export function targetOf(check: Check): Target {
  const key: Key = check.namespace ? { namespace: check.namespace, name: check.name } : { name: check.name }
  return { kind: kindOfCheck(check), key }
}

function kindOfCheck(check: Check): KindRef {
  switch (check.type) {
    case 'CRDEstablished':
      return CustomResourceDefinitionKind
    case 'DeploymentAvailable':
      return DeploymentKind
    case 'ServiceHasEndpoints':
      return EndpointSliceKind
    case 'HelmReleaseReady':
      return HelmReleaseKind
    case 'JobComplete':
      return JobKind
    case 'SourceReady':
      return parseKind(check.apiVersion ?? 'source.toolkit.fluxcd.io/v1', check.kind ?? 'OCIRepository', check)
    case 'Condition':
      return parseKind(check.apiVersion!, check.kind!, check)
  }
}

function parseKind(apiVersion: string, kind: string, check: Check): KindRef {
  const known = kindRef(apiVersion, kind, check.namespace !== undefined)
  return check.plural === undefined ? known : { ...known, plural: check.plural }
}

const NOTHING: ObservedTarget = { object: undefined, beside: [], served: true }

export async function observeTarget(objects: Objects, check: Check): Promise<ObservedTarget> {
  const { kind, key } = targetOf(check)
  try {
    if (check.type === 'ServiceHasEndpoints') {
      const labelSelector = `kubernetes.io/service-name=${check.name}`
      const { namespace } = check
      return {
        ...NOTHING,
        beside: await Array.fromAsync(objects.list<UnknownObject>(kind, { namespace, labelSelector })),
      }
    }
    const object = await objects.get<UnknownObject>(kind, key)
    if (!object || check.type !== 'DeploymentAvailable') return { object, beside: [], served: true }
    if (!isAvailable(object)) return { object, beside: await podsOf(objects, object), served: true }
    if (!check.awayFrom) return { object, beside: [], served: true }
    return { object, beside: [], misplaced: await nodesUnder(objects, object, check.awayFrom), served: true }
  } catch (error) {
    if (isKubeError(error, 'KindNotServed')) return { ...NOTHING, served: false }
    if (isKubeError(error, 'NotFound')) return NOTHING
    throw error
  }
}

function isAvailable(deployment: UnknownObject): boolean {
  const { spec, status } = deployment as { spec?: { replicas?: number }; status?: { availableReplicas?: number } }
  return (status?.availableReplicas ?? 0) >= (spec?.replicas ?? 1)
}

async function podsOf(objects: Objects, deployment: UnknownObject): Promise<readonly UnknownObject[]> {
  const { spec } = deployment as { spec?: { selector?: { matchLabels?: Record<string, string> } } }
  const labels = spec?.selector?.matchLabels
  if (!isPlainObject(labels) || Object.keys(labels).length === 0) return []
  const labelSelector = Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
  const { namespace } = deployment.metadata
  return await Array.fromAsync(objects.list<UnknownObject>(PodKind, { namespace, labelSelector }))
}

async function nodesUnder(objects: Objects, deployment: UnknownObject, label: string): Promise<readonly string[]> {
  const nodes = await Array.fromAsync(objects.list<AnyObject>(NodeKind, { labelSelector: label }))
  if (nodes.length === 0) return []
  const forbidden = new Set(nodes.map(({ metadata }) => metadata.name))
  const pods = await podsOf(objects, deployment)
  const used = pods.flatMap((pod) => (isPlainObject(pod['spec']) ? [String(pod['spec']['nodeName'])] : []))
  return [...new Set(used.filter((name) => forbidden.has(name)))].sort()
}
