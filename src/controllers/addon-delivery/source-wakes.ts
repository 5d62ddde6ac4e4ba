// Which deliveries a ConfigMap concerns: those whose pipeline takes manifests or variables from it. Pure.
import { AddonDelivery, AddonPipeline, type AnyObject, type Key } from '#api'
import type { Cache } from '#kube'
import { typeOf } from './stages/registry.ts'
import { type DeliverySummary, summarizeDelivery } from './summaries.ts'

export function usersOf(source: AnyObject, cache: Cache): readonly Key[] {
  const { name, namespace } = source.metadata
  const pipelines = cache.list<AddonPipeline>(AddonPipeline)
  const keys = pipelines.flatMap(({ metadata, spec }) => {
    const isManifests =
      metadata.namespace === namespace &&
      spec.stages.some((stage) =>
        typeOf(stage)
          .sources?.(stage)
          .some((one) => one.kind === 'ConfigMap' && one.name === name),
      )
    const templates = spec.variablesFrom.filter(({ kind }) => kind === 'ConfigMap').map((one) => one.name)
    if (!isManifests && !templates.some((one) => mayBe(one, name))) return []
    return cache
      .summaries(AddonDelivery, summarizeDelivery)
      .filter(({ pipeline }) => pipeline === `${metadata.namespace}/${metadata.name}`)
      .filter((delivery) => isManifests || takesFrom(delivery, templates, source))
      .map((delivery) => ({ namespace: delivery.namespace, name: delivery.name }))
  })
  return keys
}

const VARIABLE = '${CLUSTER_NAME}'

/** A cheap test before any delivery is read: most ConfigMaps are no source. */
function mayBe(template: string, name: string): boolean {
  const [head = '', ...rest] = template.split(VARIABLE)
  return rest.length === 0 ? head === name : name.startsWith(head) && name.endsWith(rest.at(-1) ?? '')
}

function takesFrom(delivery: DeliverySummary, templates: readonly string[], source: AnyObject): boolean {
  if (delivery.namespace !== source.metadata.namespace) return false
  return templates.some((template) => template.replaceAll(VARIABLE, delivery.clusterName) === source.metadata.name)
}
