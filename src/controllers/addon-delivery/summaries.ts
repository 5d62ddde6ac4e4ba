// What is read of Clusters and deliveries when many are read at once: by a pipeline that selects, by a source that changed.
// The cache computes it, so that an object is unpacked only for its own reconcile.
import { type AddonDelivery, type AnyObject, type ClusterFacts, isTrue, readCluster } from '#api'

export type ClusterSummary = Pick<ClusterFacts, 'namespace' | 'name' | 'uid' | 'labels' | 'paused' | 'deleting'>

export function summarizeCluster(object: AnyObject): ClusterSummary {
  const { namespace, name, uid, labels, paused, deleting } = readCluster(object)
  return { namespace, name, uid, labels, paused, deleting }
}

export interface DeliverySummary {
  readonly namespace: string
  readonly name: string
  readonly clusterName: string
  /** `namespace/name`. */
  readonly pipeline: string
  readonly isDeleting: boolean
  readonly deletedAt: string | undefined
  readonly isReady: boolean
  readonly stageStates: readonly string[]
}

export function summarizeDelivery(object: AnyObject): DeliverySummary {
  const { metadata, spec, status } = object as AddonDelivery
  const { name, namespace = '' } = metadata
  return {
    namespace,
    name,
    clusterName: spec.clusterName,
    pipeline: `${spec.pipelineRef.namespace ?? namespace}/${spec.pipelineRef.name}`,
    isDeleting: metadata.deletionTimestamp !== undefined,
    deletedAt: metadata.deletionTimestamp,
    isReady: isTrue(object, 'Ready'),
    stageStates: (status?.stages ?? []).flatMap(({ state }) => (state === undefined ? [] : [state])),
  }
}
