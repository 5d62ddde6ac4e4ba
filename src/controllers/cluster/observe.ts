// Reads all that a decision about a CAPTCluster needs, from caches alone.
import {
  type AnyObject,
  type CAPTCluster,
  CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  type ClusterFacts,
  clusterOwnerOf,
  type KindRef,
  type ObjectRef,
  readCluster,
  WorkspaceTemplateApply,
} from '#api'
import type { Cache, Projected } from '#kube'
import { type ApplyFacts, readApply } from './apply.ts'
import { vpcApplyName } from './variables.ts'
import type { ClusterPart } from './wakes.ts'

/** Objects of one Cluster, by `namespace/name` of the Cluster. */
export const BY_CLUSTER = 'cluster'

/** Of the Cluster: the type of what is observed knows no other, and no other wakes the network. */
export const FACTS_READ = ['uid', 'paused', 'deleting', 'infrastructureRef'] as const

export interface Observed {
  readonly object: Projected<CAPTCluster>
  /** Absent until Cluster API has set the owner reference, and when the Cluster is gone. */
  readonly cluster: ClusterPart<typeof FACTS_READ> | undefined
  readonly clusterName: string
  readonly apply: Projected<WorkspaceTemplateApply> | undefined
  readonly facts: ApplyFacts
  readonly controlPlanes: readonly ObjectRef[]
  readonly nowMs: number
}

/** The Cluster that owns the object; one of the same name but another uid is a stranger. */
export function ownerClusterOf(cache: Cache, clusterKind: KindRef, object: AnyObject): ClusterFacts | undefined {
  const owner = clusterOwnerOf(object)
  if (!owner) return undefined
  const found = cache.get(clusterKind, { namespace: object.metadata.namespace ?? '', name: owner.name })
  return found && found.metadata.uid === owner.uid ? readCluster(found) : undefined
}

/** Known by owner reference, else by the label that is left when the Cluster is gone. */
export function clusterNameOf(object: AnyObject): string {
  return clusterOwnerOf(object)?.name ?? object.metadata.labels?.[CLUSTER_NAME_LABEL] ?? object.metadata.name
}

export function observeCluster(
  cache: Cache,
  clusterKind: KindRef,
  object: Projected<CAPTCluster>,
  nowMs: number,
): Observed {
  const namespace = object.metadata.namespace ?? ''
  const clusterName = clusterNameOf(object)
  const name = vpcApplyName(object, clusterName)
  const apply = cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name })
  const controlPlanes = cache
    .list<CAPTControlPlane>(CAPTControlPlane, { index: BY_CLUSTER, value: `${namespace}/${clusterName}` })
    .map((plane) => ({ name: plane.metadata.name }))
  return {
    object,
    cluster: ownerClusterOf(cache, clusterKind, object),
    clusterName,
    apply,
    facts: readApply(apply),
    controlPlanes,
    nowMs,
  }
}
