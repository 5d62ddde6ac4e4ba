// Which deliveries a ConfigMap concerns: those whose pipeline takes manifests or variables from it. Pure.
import { AddonDelivery, AddonPipeline, type AnyObject, type Key, keyOf } from '#api'
import type { Cache } from '#kube'

export function usersOf(source: AnyObject, cache: Cache): readonly Key[] {
  const { name, namespace } = source.metadata
  const pipelines = cache.list<AddonPipeline>(AddonPipeline)
  const keys = pipelines.flatMap(({ metadata, spec }) => {
    const isManifests =
      metadata.namespace === namespace &&
      spec.stages.some((stage) => stage.resources?.some((one) => one.kind === 'ConfigMap' && one.name === name))
    const templates = spec.variablesFrom.filter(({ kind }) => kind === 'ConfigMap').map((one) => one.name)
    if (!isManifests && !templates.some((one) => mayBe(one, name))) return []
    return cache
      .list<AddonDelivery>(AddonDelivery, { brief: true })
      .filter((delivery) => follows(delivery, metadata))
      .filter((delivery) => isManifests || takesFrom(delivery, templates, source))
      .map(keyOf)
  })
  return keys
}

const VARIABLE = '${CLUSTER_NAME}'

/** Cheap, before any delivery is looked at: most ConfigMaps are nobody's source. */
function mayBe(template: string, name: string): boolean {
  const [head = '', ...rest] = template.split(VARIABLE)
  return rest.length === 0 ? head === name : name.startsWith(head) && name.endsWith(rest.at(-1) ?? '')
}

function follows({ metadata, spec }: AddonDelivery, pipeline: AnyObject['metadata']): boolean {
  const { name, namespace = metadata.namespace } = spec.pipelineRef
  return name === pipeline.name && namespace === pipeline.namespace
}

function takesFrom({ metadata, spec }: AddonDelivery, templates: readonly string[], source: AnyObject): boolean {
  if (metadata.namespace !== source.metadata.namespace) return false
  return templates.some((template) => template.replaceAll(VARIABLE, spec.clusterName) === source.metadata.name)
}
