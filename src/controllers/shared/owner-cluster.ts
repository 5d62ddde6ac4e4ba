// The Cluster an object belongs to: by owner reference, or by the label that stays when the reference or the Cluster is
// gone.
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type ClusterFacts,
  type ContractRef,
  clusterKeyOf,
  clusterOwnerOf,
  type Kind,
  type KindRef,
  keyText,
  readCluster,
} from '#api'
import type { Cache, Projected } from '#kube'

/** Index of objects by `namespace/name` of their Cluster. */
export const BY_CLUSTER = 'cluster'

/** Index values: the Cluster an object belongs to. */
export function clusterValues(object: AnyObject): readonly string[] {
  const key = clusterKeyOf(object)
  const label = object.metadata.labels?.[CLUSTER_NAME_LABEL]
  if (key) return [keyText(key)]
  return label === undefined ? [] : [keyText({ namespace: object.metadata.namespace ?? '', name: label })]
}

/** The Cluster that owns the object. A Cluster of the same name with another uid does not count. */
export function ownerClusterOf(cache: Cache, clusterKind: KindRef, object: AnyObject): ClusterFacts | undefined {
  const owner = clusterOwnerOf(object)
  if (!owner) return undefined
  const found = cache.get(clusterKind, { namespace: object.metadata.namespace ?? '', name: owner.name })
  return found && found.metadata.uid === owner.uid ? readCluster(found) : undefined
}

/** The Cluster that owns an object, or that the label names which people write on it. */
export function namedCluster(
  cache: Cache,
  clusterKind: KindRef,
  object: AnyObject,
): {
  readonly clusterName: string | undefined
  readonly cluster: (ClusterFacts & { readonly object: AnyObject }) | undefined
} {
  const name = clusterOwnerOf(object)?.name ?? object.metadata.labels?.[CLUSTER_NAME_LABEL]
  const found =
    name === undefined ? undefined : cache.get(clusterKind, { namespace: object.metadata.namespace ?? '', name })
  return { clusterName: name, cluster: found && { ...readCluster(found), object: found } }
}

/** The object that a reference of the Cluster names; undefined when it is of another kind, or not there. */
export function referred<T extends AnyObject>(
  cache: Cache,
  kind: Kind,
  namespace: string,
  ref: ContractRef | undefined,
): Projected<T> | undefined {
  if (ref?.kind !== kind.kind || ref.group !== kind.group) return undefined
  return cache.get<T>(kind, { namespace, name: ref.name })
}

export function clusterNameOf(object: AnyObject): string {
  return clusterOwnerOf(object)?.name ?? object.metadata.labels?.[CLUSTER_NAME_LABEL] ?? object.metadata.name
}
