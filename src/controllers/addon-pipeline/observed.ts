// Everything that a decision about one AddonPipeline depends on, and the actions it may return.
import { type AddonPipeline, type ClusterApiVersion, type Key, keyText, type PipelineRevision } from '#api'
import type { Projected } from '#kube'
import type { ClusterSummary, DeliverySummary } from '../addon-delivery/summaries.ts'
import type { ObservedRollout } from './rollout.ts'

export interface PipelinePorts {
  readonly clusterApi: ClusterApiVersion
  readonly homeNamespace: string
  /** False for Clusters that another manager serves. */
  readonly acceptsCluster?: ((cluster: Labelled) => boolean) | undefined
}

interface Labelled {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> }
}

export interface ObservedPipeline {
  readonly pipeline: Projected<AddonPipeline>
  readonly clusters: readonly ClusterSummary[]
  readonly deliveries: readonly DeliverySummary[]
  /** Deliveries of Clusters that are alive but no longer selected. */
  readonly unselected: readonly DeliverySummary[]
  readonly fault: { readonly message: string; readonly hint: string } | undefined
  /** Undefined where a change reaches every Cluster at once. */
  readonly rollout?: ObservedRollout | undefined
  readonly revisions?: readonly PipelineRevision[] | undefined
  /** Deliveries whose revision is to be set: those of the wave, and those that have the newest one without saying so. */
  readonly due?: readonly DueDelivery[]
}

export interface DueDelivery {
  readonly delivery: Key
  /** Undefined where it changes nothing in the cluster. */
  readonly cluster: string | undefined
}

export type PipelineAction =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' }
  | { readonly do: 'create-delivery'; readonly cluster: ClusterSummary; readonly revision: string | undefined }
  | { readonly do: 'release-delivery'; readonly delivery: Key }
  | ({ readonly do: 'set-revision'; readonly revision: string } & DueDelivery)

/** The Cluster that a delivery is for. */
export function servedBy({ namespace, clusterName }: DeliverySummary): string {
  return keyText({ namespace, name: clusterName })
}
