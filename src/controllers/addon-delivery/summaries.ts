// What is read of Clusters and deliveries when many are read at once: by a pipeline that selects, by a source that changed.
// The cache computes it, so that an object is unpacked only for its own reconcile.
import {
  ADDONS_HEALTHY,
  type AddonDelivery,
  type AnyObject,
  type ClusterFacts,
  conditionOf,
  isTrue,
  pauseOf,
  readCluster,
} from '#api'
import { assignedRevision } from '../addon-pipeline/revision.ts'

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
  readonly createdAt: string | undefined
  /** The revision of the pipeline that it has. */
  readonly assigned: string | undefined
  /** Its spec names that revision. */
  readonly isAssigned: boolean
  /** The revision that it last reported on. */
  readonly revision: string | undefined
  readonly revisionSince: string | undefined
  readonly readySince: string | undefined
  /** What it reports is about its present spec. */
  readonly isCurrent: boolean
  /** Why it needs a person, or what does not work in the cluster. */
  readonly trouble: string | undefined
  readonly isPaused: boolean
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
    createdAt: metadata.creationTimestamp,
    assigned: assignedRevision(object as AddonDelivery),
    isAssigned: spec.revision !== undefined,
    revision: status?.revision,
    revisionSince: status?.revisionSince,
    readySince: conditionOf(object, 'Ready')?.lastTransitionTime,
    isCurrent: conditionOf(object, 'Ready')?.observedGeneration === metadata.generation,
    trouble: troubleOf(object),
    isPaused: spec.suspend || pauseOf(undefined, object) !== undefined,
    stageStates: (status?.stages ?? []).flatMap(({ state }) => (state === undefined ? [] : [state])),
  }
}

function troubleOf(object: AnyObject): string | undefined {
  const stalled = conditionOf(object, 'Stalled')
  const health = conditionOf(object, ADDONS_HEALTHY)
  const found = stalled?.status === 'True' ? stalled : health?.status === 'False' ? health : undefined
  return found?.message.split('\n')[0]
}
