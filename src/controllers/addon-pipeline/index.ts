// The pipeline controller: one AddonDelivery per selected Cluster, and a change in waves where the pipeline asks for it. It never
// uninstalls: a Cluster that is no longer selected is released as it is, and a pipeline that is still used cannot disappear.
import { AddonDelivery, AddonPipeline, type AnyObject, clusterKind, isSameCluster, keyOf, toKey } from '#api'
import { matchesSelector } from '#lib'
import type { Controller } from '#runtime'
import { actPipeline } from './act.ts'
import { servesNamespace } from './consent.ts'
import { decide } from './decide.ts'
import { observePipeline } from './observe.ts'
import type { ObservedPipeline, PipelineAction, PipelinePorts } from './observed.ts'
import { reportPipeline } from './status.ts'

const pipelineOf = (delivery: AddonDelivery): string => {
  const { name, namespace } = delivery.spec.pipelineRef
  return `${namespace ?? delivery.metadata.namespace}/${name}`
}

export function addonPipelineController(
  ports: PipelinePorts,
): Controller<AddonPipeline, ObservedPipeline, PipelineAction> {
  const cluster = clusterKind(ports.clusterApi)
  const serves = (pipeline: AddonPipeline, { metadata }: AnyObject): boolean =>
    servesNamespace(pipeline, metadata.namespace, ports.homeNamespace)
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
            .filter((pipeline) => serves(pipeline, object))
            .filter(({ spec }) => matchesSelector(spec.clusterSelector, object.metadata.labels ?? {}))
            .map(keyOf),
        ignores: isSameCluster,
      },
    ],
    observe: async (world, pipeline) => observePipeline(world, pipeline, ports),
    decide,
    act: (world, observed, action) => actPipeline(world, observed, action, ports.clusterApi),
    status: reportPipeline,
  }
}
