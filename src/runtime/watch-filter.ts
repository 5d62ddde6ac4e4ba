// Several managers in one cluster share the work by label: each reconciles only objects with its value.
import type { AnyObject } from '#api'

const WATCH_FILTER_LABEL = 'cluster.x-k8s.io/watch-filter'

/** For `accepts` of `runControllers`. Without a value everything is accepted. */
export function watchFilter(value: string | undefined): (object: AnyObject) => boolean {
  if (!value) return () => true
  return (object) => object.metadata.labels?.[WATCH_FILTER_LABEL] === value
}
