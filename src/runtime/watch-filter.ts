// Several managers in one cluster share the work by label: each reconciles only objects with its value. An object without the
// label belongs to the manager of its Cluster, so that people label Clusters alone and what is made for one follows it.
import { CLUSTER_NAME_LABEL, type Key } from '#api'

export const WATCH_FILTER_LABEL = 'cluster.x-k8s.io/watch-filter'

interface Labelled {
  readonly metadata: { readonly namespace?: string; readonly labels?: Readonly<Record<string, string>> }
}

/** False when the objects belong to different managers: what was ignored before may be ours now. */
export const hasSameFilter = (one: Labelled, other: Labelled): boolean =>
  one.metadata.labels?.[WATCH_FILTER_LABEL] === other.metadata.labels?.[WATCH_FILTER_LABEL]

/** For `accepts` of `runControllers`. Without a value everything is accepted. `clusterOf` reads a Cluster from the cache. */
export function watchFilter(
  value: string | undefined,
  clusterOf: (key: Key) => Labelled | undefined,
): (object: Labelled) => boolean {
  if (!value) return () => true
  return ({ metadata }) => {
    const { namespace = '', labels = {} } = metadata
    const cluster = labels[CLUSTER_NAME_LABEL]
    const own = labels[WATCH_FILTER_LABEL]
    if (own !== undefined || cluster === undefined) return own === value
    return clusterOf({ namespace, name: cluster })?.metadata.labels?.[WATCH_FILTER_LABEL] === value
  }
}
