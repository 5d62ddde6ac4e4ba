// Executes what was decided for an AddonPipeline. Every action is idempotent.
import { AddonDelivery, AddonPipeline, CLUSTER_NAME_LABEL, type ClusterApiVersion, clusterKind, MOVE_LABEL } from '#api'
import { ignore, type Projected } from '#kube'
import { addFinalizer, removeFinalizer, type World } from '#runtime'
import { deliveryName, PIPELINE_FINALIZER, PIPELINE_LABEL, RELEASE_ANNOTATION } from '../addon-delivery/names.ts'
import type { ObservedPipeline, PipelineAction } from './observed.ts'

export async function actPipeline(
  world: World,
  { pipeline, rollout }: ObservedPipeline,
  action: PipelineAction,
  clusterApi: ClusterApiVersion,
): Promise<void> {
  const { objects, events } = world
  switch (action.do) {
    case 'add-finalizer':
      return await addFinalizer(objects, AddonPipeline, pipeline, PIPELINE_FINALIZER)
    case 'remove-finalizer':
      return await removeFinalizer(objects, AddonPipeline, pipeline, PIPELINE_FINALIZER)
    case 'create-delivery':
      return await createDelivery(world, pipeline, action, clusterApi)
    case 'release-delivery': {
      const body = { metadata: { annotations: { [RELEASE_ANNOTATION]: 'true' } } }
      await objects.patch(AddonDelivery, action.delivery, { type: 'merge', body })
      return await objects.delete(AddonDelivery, action.delivery)
    }
    case 'set-revision': {
      const { delivery, cluster, revision } = action
      const body = { spec: { revision } }
      await objects.patch(AddonDelivery, delivery, { type: 'merge', body }).catch(ignore('NotFound'))
      if (cluster === undefined) return
      const { wave = 0, waves = 0 } = rollout?.waves ?? {}
      const message = `Wave ${wave} of ${waves}: Cluster ${cluster} receives revision ${revision}`
      events.emit(pipeline, { type: 'Normal', reason: 'RollingOut', message })
    }
  }
}

async function createDelivery(
  world: World,
  pipeline: Projected<AddonPipeline>,
  { cluster, revision }: Extract<PipelineAction, { do: 'create-delivery' }>,
  clusterApi: ClusterApiVersion,
): Promise<void> {
  const { group, version, kind } = clusterKind(clusterApi)
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
      ...(revision === undefined ? {} : { revision }),
      suspend: false,
      overrides: [],
    },
  } satisfies AddonDelivery
  await world.objects.create(AddonDelivery, delivery).catch(ignore('AlreadyExists'))
}
