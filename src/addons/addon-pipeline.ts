// The pipeline controller: one AddonDelivery per selected Cluster. It never uninstalls: a Cluster that is no longer
// selected is let go as it is, and a pipeline that is still used cannot disappear.
import {
  AddonDelivery,
  AddonPipeline,
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type ClusterApiVersion,
  type ClusterFacts,
  clusterKind,
  isSameCluster,
  type Key,
  keyOf,
  keyText,
  MOVE_LABEL,
  readCluster,
} from '#api'
import { isKubeError, type Projected } from '#kube'
import { isCaptError } from '#lib'
import {
  act,
  addFinalizer,
  type Controller,
  done,
  hasFinalizer,
  isTrue,
  removeFinalizer,
  stalled,
  type World,
  waiting,
} from '#runtime'
import { briefCluster, briefDelivery } from './briefs.ts'
import { deliveryName, PIPELINE_FINALIZER, PIPELINE_LABEL, RELEASE_ANNOTATION } from './names.ts'
import { mayFollow, servesNamespace } from './pipeline-consent.ts'
import { orderStages } from './plan.ts'
import { selects } from './selection.ts'

export interface PipelineSeen {
  readonly pipeline: Projected<AddonPipeline>
  readonly clusters: readonly ClusterFacts[]
  readonly deliveries: readonly Projected<AddonDelivery>[]
  /** Deliveries of Clusters that are alive but no longer selected. */
  readonly unselected: readonly Projected<AddonDelivery>[]
  readonly fault: { readonly message: string; readonly hint: string } | undefined
}

export type PipelineAction =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' }
  | { readonly do: 'create-delivery'; readonly cluster: ClusterFacts }
  | { readonly do: 'release-delivery'; readonly delivery: Projected<AddonDelivery> }

export interface PipelinePorts {
  readonly clusterApi: ClusterApiVersion
  readonly homeNamespace: string
}

const pipelineOf = (delivery: AddonDelivery): string => {
  const { name, namespace } = delivery.spec.pipelineRef
  return `${namespace ?? delivery.metadata.namespace}/${name}`
}

export function addonPipelineController(ports: PipelinePorts): Controller<AddonPipeline, PipelineSeen, PipelineAction> {
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
            .filter(({ spec }) => selects(spec.clusterSelector, object.metadata.labels ?? {}))
            .map(keyOf),
        ignores: isSameCluster,
      },
    ],
    briefs: [
      { kind: cluster, brief: briefCluster },
      { kind: AddonDelivery, brief: briefDelivery },
    ],
    observe: async (world, pipeline) => observe(world, pipeline, ports),
    decide,
    act: (world, seen, action) => actPipeline(world, seen, action, ports),
    status: (seen) => ({
      fields: {
        clusters: seen.clusters.length,
        ready: seen.deliveries.filter((delivery) => isTrue(delivery, 'Ready')).length,
      },
    }),
  }
}

/** The Cluster that a delivery is for. */
function servedBy({ metadata, spec }: AddonDelivery): string {
  return keyText({ namespace: metadata.namespace!, name: spec.clusterName })
}

function toKey(text: string): Key {
  const [namespace, name] = text.split('/') as [string, string]
  return { namespace, name }
}

const serves = (pipeline: AddonPipeline, { metadata }: AnyObject, { homeNamespace }: PipelinePorts): boolean =>
  servesNamespace(pipeline, metadata.namespace, homeNamespace)

function observe({ cache }: World, pipeline: Projected<AddonPipeline>, ports: PipelinePorts): PipelineSeen {
  const all = cache.list(clusterKind(ports.clusterApi), { brief: true })
  const clusters = all
    .filter(({ metadata }) => !metadata.deletionTimestamp)
    .filter((cluster) => serves(pipeline, cluster, ports))
    .filter(({ metadata }) => selects(pipeline.spec.clusterSelector, metadata.labels ?? {}))
    .map(readCluster)
  const value = `${pipeline.metadata.namespace}/${pipeline.metadata.name}`
  // A delivery that may not follow this pipeline is none of its own: it neither counts nor blocks deletion.
  const deliveries = cache
    .list<AddonDelivery>(AddonDelivery, { index: 'pipeline', value, brief: true })
    .filter((delivery) => mayFollow(delivery, pipeline, ports.homeNamespace))
  const byKey = new Map(all.map((cluster) => [keyText(keyOf(cluster)), cluster]))
  const unselected = deliveries.filter((delivery) => {
    const cluster = byKey.get(servedBy(delivery))
    if (!cluster || cluster.metadata.deletionTimestamp || delivery.metadata.deletionTimestamp) return false
    return !selects(pipeline.spec.clusterSelector, cluster.metadata.labels ?? {})
  })
  return { pipeline, clusters, deliveries, unselected, fault: faultOf(pipeline, ports) }
}

function faultOf(pipeline: Projected<AddonPipeline>, { homeNamespace }: PipelinePorts): PipelineSeen['fault'] {
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
  seen: PipelineSeen,
): ReturnType<Controller<AddonPipeline, PipelineSeen, PipelineAction>['decide']> {
  const { pipeline, clusters, deliveries } = seen
  const isHeld = hasFinalizer(pipeline, PIPELINE_FINALIZER)
  if (pipeline.metadata.deletionTimestamp) {
    if (!isHeld) return done
    if (deliveries.length === 0) return act<PipelineAction>({ do: 'remove-finalizer' })
    const names = deliveries
      .map((delivery) => delivery.metadata.name)
      .sort()
      .join(', ')
    return waiting('StillUsed', `AddonDeliveries follow this pipeline: ${names}`)
  }
  if (seen.fault) return stalled('PipelineInvalid', seen.fault.message, seen.fault.hint)
  if (!isHeld) return act<PipelineAction>({ do: 'add-finalizer' })
  const served = new Set(deliveries.map(servedBy))
  // A paused Cluster may be on its way to another home, and its delivery with it.
  const missing = clusters.filter((cluster) => !cluster.paused && !served.has(keyText(cluster)))
  const actions: PipelineAction[] = [
    ...missing.map((cluster) => ({ do: 'create-delivery' as const, cluster })),
    ...seen.unselected.map((delivery) => ({ do: 'release-delivery' as const, delivery })),
  ]
  return actions.length > 0 ? act<PipelineAction>(...actions) : done
}

async function actPipeline(
  world: World,
  { pipeline }: PipelineSeen,
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
      const key = keyOf(action.delivery)
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
  cluster: ClusterFacts,
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
  try {
    await world.objects.create(AddonDelivery, delivery)
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists')) throw error
  }
}
