// Kinds of Karpenter and Flux in the cluster, and how their conditions read.
import { conditionOf, type KindRef, type UnknownObject } from '#api'
import { isKubeError, type ListOptions, type Objects } from '#kube'
import { pluralOf } from '#lib'

const ref = (group: string, version: string, kind: string, namespaced: boolean): KindRef => ({
  group,
  version,
  kind,
  plural: pluralOf(kind),
  namespaced,
})

export const NodePoolKind = ref('karpenter.sh', 'v1', 'NodePool', false)
export const NodeClaimKind = ref('karpenter.sh', 'v1', 'NodeClaim', false)
export const EC2NodeClassKind = ref('karpenter.k8s.aws', 'v1', 'EC2NodeClass', false)
export const HelmReleaseKind = ref('helm.toolkit.fluxcd.io', 'v2', 'HelmRelease', true)
export const OCIRepositoryKind = ref('source.toolkit.fluxcd.io', 'v1', 'OCIRepository', true)
export const HelmRepositoryKind = ref('source.toolkit.fluxcd.io', 'v1', 'HelmRepository', true)
export const DaemonSetKind = ref('apps', 'v1', 'DaemonSet', true)
export const StatefulSetKind = ref('apps', 'v1', 'StatefulSet', true)

/** What people write for Flux to work on. */
export const FluxUserKinds: readonly KindRef[] = [
  HelmReleaseKind,
  ref('kustomize.toolkit.fluxcd.io', 'v1', 'Kustomization', true),
  OCIRepositoryKind,
  HelmRepositoryKind,
  ref('source.toolkit.fluxcd.io', 'v1', 'GitRepository', true),
  ref('source.toolkit.fluxcd.io', 'v1', 'Bucket', true),
]

export const FLUX_NAMESPACE = 'flux-system'

export const POOL_LABEL = 'karpenter.sh/nodepool'
/** On every object in the cluster that capt made for an installation. */
export const MANAGED_LABEL = 'capt.appthrust.com/karpenter'

/** Of an object as a manifest names it. */
export function kindRefOf(
  { apiVersion, kind, metadata }: { apiVersion: string; kind: string; metadata?: { namespace?: string } },
  isNamespaced = metadata?.namespace !== undefined,
): KindRef {
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  return ref(group, version, kind, isNamespaced)
}

/** Every object of a kind; none when the kind is not served. */
export async function listAll(
  objects: Objects,
  kind: KindRef,
  options: ListOptions = {},
): Promise<readonly UnknownObject[]> {
  const all: UnknownObject[] = []
  try {
    for await (const object of objects.list<UnknownObject>(kind, options)) all.push(object)
  } catch (error) {
    if (!isKubeError(error, 'KindNotServed', 'NotFound')) throw error
  }
  return all
}

/** Undefined when it does not exist or its kind is not served. */
export async function getOne(
  objects: Objects,
  kind: KindRef,
  key: { readonly namespace?: string; readonly name: string },
): Promise<UnknownObject | undefined> {
  try {
    return await objects.get<UnknownObject>(kind, key)
  } catch (error) {
    if (isKubeError(error, 'KindNotServed')) return undefined
    throw error
  }
}

export interface Readiness {
  readonly name: string
  readonly isReady: boolean
  /** What its condition says while it is not. */
  readonly message: string
}

export function readinessOf(object: UnknownObject): Readiness {
  const ready = conditionOf(object, 'Ready')
  const isCurrent = ready?.observedGeneration === undefined || ready.observedGeneration === object.metadata.generation
  return {
    name: object.metadata.name,
    isReady: ready?.status === 'True' && isCurrent,
    message: ready?.message || ready?.reason || 'no condition Ready yet',
  }
}

/** Pools and claims of EKS Auto Mode belong to its own Karpenter. */
export function isSelfManaged(object: UnknownObject): boolean {
  const { spec } = object as { spec?: { nodeClassRef?: Group; template?: { spec?: { nodeClassRef?: Group } } } }
  const group = (spec?.nodeClassRef ?? spec?.template?.spec?.nodeClassRef)?.group
  return group === undefined || group === 'karpenter.k8s.aws'
}

interface Group {
  readonly group?: string
}
