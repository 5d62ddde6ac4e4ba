// The pipeline controller: one AddonDelivery per selected Cluster. It never uninstalls: a Cluster that is no longer
// selected is released as it is, and a pipeline that is still used cannot disappear.
import {
  AddonDelivery,
  AddonPipeline,
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type ClusterApiVersion,
  clusterKind,
  isSameCluster,
  type Key,
  keyOf,
  keyText,
  MOVE_LABEL,
  toKey,
} from '#api'
import { ignore, type Projected } from '#kube'
import { isCaptError, matchesSelector } from '#lib'
import {
  act,
  addFinalizer,
  type Controller,
  done,
  hasFinalizer,
  removeFinalizer,
  stalled,
  type World,
  waiting,
} from '#runtime'
import { deliveryName, PIPELINE_FINALIZER, PIPELINE_LABEL, RELEASE_ANNOTATION } from '../addon-delivery/names.ts'
import { orderStages } from '../addon-delivery/stages/order.ts'
import {
  type ClusterSummary,
  type DeliverySummary,
  summarizeCluster,
  summarizeDelivery,
} from '../addon-delivery/summaries.ts'
import { mayFollow, servesNamespace } from './consent.ts'

export interface ObservedPipeline {
  readonly pipeline: Projected<AddonPipeline>
  readonly clusters: readonly ClusterSummary[]
  readonly deliveries: readonly DeliverySummary[]
  /** Deliveries of Clusters that are alive but no longer selected. */
  readonly unselected: readonly DeliverySummary[]
  readonly fault: { readonly message: string; readonly hint: string } | undefined
}

type PipelineAction =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' }
  | { readonly do: 'create-delivery'; readonly cluster: ClusterSummary }
  | { readonly do: 'release-delivery'; readonly delivery: Key }

interface PipelinePorts {
  readonly clusterApi: ClusterApiVersion
  readonly homeNamespace: string
}

const pipelineOf = (delivery: AddonDelivery): string => {
  const { name, namespace } = delivery.spec.pipelineRef
  return `${namespace ?? delivery.metadata.namespace}/${name}`
}

export function addonPipelineController(
  ports: PipelinePorts,
): Controller<AddonPipeline, ObservedPipeline, PipelineAction> {
  const cluster = clusterKind(ports.clusterApi)
  return {
    name: 'addonpipeline',
    kind: AddonPipeline,
    indexes: [{ kind: AddonDelivery, name: 'pipeline', values: (object) => [pipelineOf(object as AddonDelivery)] }],
    wakes: [
      { kind: AddonDelivery, toKeys: (object) => [toKey(pipelineOf(object as unknown as AddonDelivery))] },
      {
        kind: cluster,
        toKeys: (object, cache) =>
          cache
            .list<AddonPipeline>(AddonPipeline)
            .filter((pipeline) => serves(pipeline, object, ports))
            .filter(({ spec }) => matchesSelector(spec.clusterSelector, object.metadata.labels ?? {}))
            .map(keyOf),
        ignores: isSameCluster,
      },
    ],
    observe: async (world, pipeline) => observe(world, pipeline, ports),
    decide,
    act: (world, observed, action) => actPipeline(world, observed, action, ports),
    status: (observed) => ({
      fields: {
        clusters: observed.clusters.length,
        ready: observed.deliveries.filter(({ isReady }) => isReady).length,
      },
    }),
  }
}

/** The Cluster that a delivery is for. */
function servedBy({ namespace, clusterName }: DeliverySummary): string {
  return keyText({ namespace, name: clusterName })
}

const serves = (pipeline: AddonPipeline, { metadata }: AnyObject, { homeNamespace }: PipelinePorts): boolean =>
  servesNamespace(pipeline, metadata.namespace, homeNamespace)

function observe({ cache }: World, pipeline: Projected<AddonPipeline>, ports: PipelinePorts): ObservedPipeline {
  const all = cache.summaries(clusterKind(ports.clusterApi), summarizeCluster)
  const clusters = all
    .filter(({ deleting }) => !deleting)
    .filter(({ namespace }) => servesNamespace(pipeline, namespace, ports.homeNamespace))
    .filter(({ labels }) => matchesSelector(pipeline.spec.clusterSelector, labels))
  const value = `${pipeline.metadata.namespace}/${pipeline.metadata.name}`
  // A delivery that may not follow this pipeline neither counts nor blocks deletion.
  const deliveries = cache
    .summaries(AddonDelivery, summarizeDelivery, { index: 'pipeline', value })
    .filter(({ namespace }) => mayFollow(namespace, pipeline, ports.homeNamespace))
  const byKey = new Map(all.map((cluster) => [keyText(cluster), cluster]))
  const unselected = deliveries.filter((delivery) => {
    const cluster = byKey.get(servedBy(delivery))
    if (!cluster || cluster.deleting || delivery.isDeleting) return false
    return !matchesSelector(pipeline.spec.clusterSelector, cluster.labels)
  })
  return { pipeline, clusters, deliveries, unselected, fault: faultOf(pipeline, ports) }
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

export function decide(
  observed: ObservedPipeline,
): ReturnType<Controller<AddonPipeline, ObservedPipeline, PipelineAction>['decide']> {
  const { pipeline, clusters, deliveries } = observed
  const isHeld = hasFinalizer(pipeline, PIPELINE_FINALIZER)
  if (pipeline.metadata.deletionTimestamp) {
    if (!isHeld) return done
    if (deliveries.length === 0) return act<PipelineAction>({ do: 'remove-finalizer' })
    const names = deliveries
      .map(({ name }) => name)
      .sort()
      .join(', ')
    return waiting('StillUsed', `AddonDeliveries follow this pipeline: ${names}`)
  }
  if (observed.fault) return stalled('PipelineInvalid', observed.fault.message, observed.fault.hint)
  if (!isHeld) return act<PipelineAction>({ do: 'add-finalizer' })
  const served = new Set(deliveries.map(servedBy))
  // A paused Cluster may be on its way to another home, and its delivery with it.
  const missing = clusters.filter((cluster) => !cluster.paused && !served.has(keyText(cluster)))
  const actions: PipelineAction[] = [
    ...missing.map((cluster) => ({ do: 'create-delivery' as const, cluster })),
    ...observed.unselected.map(({ namespace, name }) => ({
      do: 'release-delivery' as const,
      delivery: { namespace, name },
    })),
  ]
  return actions.length > 0 ? act<PipelineAction>(...actions) : done
}

async function actPipeline(
  world: World,
  { pipeline }: ObservedPipeline,
  action: PipelineAction,
  ports: PipelinePorts,
): Promise<void> {
  const { objects } = world
  switch (action.do) {
    case 'add-finalizer':
      return await addFinalizer(objects, AddonPipeline, pipeline, PIPELINE_FINALIZER)
    case 'remove-finalizer':
      return await removeFinalizer(objects, AddonPipeline, pipeline, PIPELINE_FINALIZER)
    case 'create-delivery':
      return await createDelivery(world, pipeline, action.cluster, ports)
    case 'release-delivery': {
      const key = action.delivery
      await objects.patch(AddonDelivery, key, {
        type: 'merge',
        body: { metadata: { annotations: { [RELEASE_ANNOTATION]: 'true' } } },
      })
      await objects.delete(AddonDelivery, key)
    }
  }
}

async function createDelivery(
  world: World,
  pipeline: Projected<AddonPipeline>,
  cluster: ClusterSummary,
  ports: PipelinePorts,
): Promise<void> {
  const { group, version, kind } = clusterKind(ports.clusterApi)
  const isNear = pipeline.metadata.namespace === cluster.namespace
  const delivery = {
    apiVersion: AddonDelivery.apiVersion,
    kind: AddonDelivery.kind,
    metadata: {
      name: deliveryName(cluster.name, pipeline.metadata.name),
      namespace: cluster.namespace,
      labels: { [CLUSTER_NAME_LABEL]: cluster.name, [PIPELINE_LABEL]: pipeline.metadata.name, [MOVE_LABEL]: '' },
      ownerReferences: [{ apiVersion: `${group}/${version}`, kind, name: cluster.name, uid: cluster.uid }],
    },
    spec: {
      clusterName: cluster.name,
      pipelineRef: { name: pipeline.metadata.name, ...(isNear ? {} : { namespace: pipeline.metadata.namespace! }) },
      suspend: false,
      overrides: [],
    },
  } satisfies AddonDelivery
  await world.objects.create(AddonDelivery, delivery).catch(ignore('AlreadyExists'))
}
