// Reads what the decision about one AddonPipeline needs, from the cache alone.
import { AddonDelivery, type AddonPipeline, clusterKind, keyText } from '#api'
import type { Projected } from '#kube'
import { isCaptError, matchesSelector, toTimestamp } from '#lib'
import type { World } from '#runtime'
import { orderStages } from '../addon-delivery/stages/order.ts'
import {
  type ClusterSummary,
  type DeliverySummary,
  summarizeCluster,
  summarizeDelivery,
} from '../addon-delivery/summaries.ts'
import { mayFollow, servesNamespace } from './consent.ts'
import { type DueDelivery, type ObservedPipeline, type PipelinePorts, servedBy } from './observed.ts'
import { keptRevisions, revisionOf } from './revision.ts'
import { type Follower, type ObservedRollout, observeRollout } from './rollout.ts'

export function observePipeline(
  { cache, clock }: World,
  pipeline: Projected<AddonPipeline>,
  ports: PipelinePorts,
): ObservedPipeline {
  const all = cache.summaries(clusterKind(ports.clusterApi), summarizeCluster)
  const isOurs = ({ labels }: ClusterSummary) => ports.acceptsCluster?.({ metadata: { labels } }) ?? true
  const clusters = all
    .filter(({ deleting }) => !deleting)
    .filter(({ namespace }) => servesNamespace(pipeline, namespace, ports.homeNamespace))
    .filter(({ labels }) => matchesSelector(pipeline.spec.clusterSelector, labels))
    .filter(isOurs)
  const value = `${pipeline.metadata.namespace}/${pipeline.metadata.name}`
  // A delivery that may not follow this pipeline neither counts nor blocks deletion.
  const deliveries = cache
    .summaries(AddonDelivery, summarizeDelivery, { index: 'pipeline', value })
    .filter(({ namespace }) => mayFollow(namespace, pipeline, ports.homeNamespace))
  const byKey = new Map(all.map((cluster) => [keyText(cluster), cluster]))
  const followers = followersOf(pipeline, deliveries, byKey)
  const unselected = followers
    .filter(({ cluster }) => !matchesSelector(pipeline.spec.clusterSelector, cluster.labels))
    .map(({ delivery }) => delivery)
  const base = { pipeline, clusters, deliveries, unselected, fault: faultOf(pipeline, ports) }
  const ours = followers.filter(({ cluster }) => isOurs(cluster))
  return { ...base, ...observeWaves(pipeline, ours, clock.now()) }
}

/** Deliveries of Clusters that live. */
function followersOf(
  { metadata }: AddonPipeline,
  deliveries: readonly DeliverySummary[],
  byKey: ReadonlyMap<string, ClusterSummary>,
): readonly Follower[] {
  return deliveries.flatMap((delivery) => {
    const cluster = byKey.get(servedBy(delivery))
    if (!cluster || cluster.deleting || delivery.isDeleting) return []
    const name = cluster.namespace === metadata.namespace ? cluster.name : keyText(cluster)
    return [{ delivery, cluster, name }]
  })
}

function observeWaves(
  pipeline: Projected<AddonPipeline>,
  followers: readonly Follower[],
  nowMs: number,
): Pick<ObservedPipeline, 'rollout' | 'revisions' | 'due'> {
  const { rollout: options } = pipeline.spec
  if (!options) return {}
  const revision = revisionOf(pipeline)
  const inUse = new Set(followers.map(({ delivery }) => delivery.assigned))
  const revisions = keptRevisions(pipeline, inUse, toTimestamp(nowMs))!
  const rollout = observeRollout(options, revision, revisions[0]!.since, followers, nowMs)
  return { rollout, revisions, due: dueOf(rollout, followers) }
}

/** A delivery that was rendered from the newest revision before there were waves is given it at once: nothing changes there. */
function dueOf({ revision, waves }: ObservedRollout, followers: readonly Follower[]): readonly DueDelivery[] {
  const start = new Set(waves.start)
  return followers.flatMap(({ delivery: { namespace, name: own, assigned, isAssigned }, name }): DueDelivery[] => {
    const delivery = { namespace, name: own }
    if (start.has(name)) return [{ delivery, cluster: name }]
    return assigned === revision && !isAssigned ? [{ delivery, cluster: undefined }] : []
  })
}

function faultOf(pipeline: Projected<AddonPipeline>, { homeNamespace }: PipelinePorts): ObservedPipeline['fault'] {
  if (pipeline.spec.allNamespaces && pipeline.metadata.namespace !== homeNamespace)
    return {
      message: 'allNamespaces is honoured only in the namespace where capt runs',
      hint: `Move the pipeline to ${homeNamespace}, or set allNamespaces to false`,
    }
  try {
    orderStages(pipeline.spec.stages)
    return undefined
  } catch (error) {
    if (!isCaptError(error)) throw error
    return { message: error.message, hint: error.hint ?? '' }
  }
}
