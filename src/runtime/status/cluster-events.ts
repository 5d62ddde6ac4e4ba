// Warnings reach the Cluster as well: people look there first, and a failure of a part is a failure of its Cluster.
import { type AnyObject, CLUSTER_GROUP, CLUSTER_NAME_LABEL, clusterOwnerOf, type KindRef } from '#api'
import type { Cache, Events } from '#kube'

/** Events whose Warnings about a part of a Cluster are emitted on that Cluster too. `clusterKind` must be in the cache. */
export function warnCluster(events: Events, cache: Cache, clusterKind: KindRef): Events {
  return {
    emit(about, event) {
      events.emit(about, event)
      if (event.type !== 'Warning') return
      const cluster = clusterOf(cache, clusterKind, about)
      const { kind, metadata } = about
      if (cluster) events.emit(cluster, { ...event, message: `${kind} ${metadata.name}: ${event.message}` })
    },
  }
}

/** By owner reference or by label; undefined for objects of no Cluster, and for a Cluster itself. */
function clusterOf(cache: Cache, clusterKind: KindRef, object: AnyObject): AnyObject | undefined {
  const { namespace, labels } = object.metadata
  const owner = clusterOwnerOf(object)
  if (owner) {
    const { apiVersion, kind, name, uid } = owner
    return { apiVersion, kind, metadata: { name, uid, ...(namespace === undefined ? {} : { namespace }) } }
  }
  const name = labels?.[CLUSTER_NAME_LABEL]
  if (name === undefined || object.kind === clusterKind.kind) return undefined
  return cache.get(clusterKind, namespace === undefined ? { name } : { namespace, name })
}

export const isClusterKind = ({ group, kind }: KindRef): boolean => group === CLUSTER_GROUP && kind === 'Cluster'
