// Takes away a ClusterResourceSet that its stage no longer needs. Core never deletes what leaves a set, so the objects that
// it delivered go first, then its payload, then the set. Safe to repeat: each step finds less than the one before.
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type ConfigMap,
  clusterResourceSetKind,
  type Key,
  type Secret,
  type UnknownObject,
} from '#api'
import { ignore } from '#kube'
import { isPlainObject } from '#lib'
import type { World } from '#runtime'
import { parseKindRef } from '../manifests/kind-ref.ts'
import { parseManifests } from '../manifests/manifests.ts'
import { MANAGED_LABEL } from '../names.ts'
import type { Observer } from '../observe.ts'
import type { ObservedDelivery } from '../observed.ts'
import { payloadKind, readText } from './payloads.ts'

/** Deleting one of these deletes what others put into it. */
const NEVER_DELETED = new Set(['Namespace', 'CustomResourceDefinition'])

export async function retireSet(world: World, { ports, payloads }: Observer, observed: ObservedDelivery, name: string) {
  const { namespace = '' } = observed.delivery.metadata
  const cluster = { namespace, name: observed.delivery.spec.clusterName }
  const kind = clusterResourceSetKind(ports.resourceSets!)
  const set = await world.objects.get<UnknownObject>(kind, { namespace, name })
  const workload = await ports.workloads.open(cluster)
  if (!set || !workload) return
  for (const payload of payloadsOf(set)) {
    const key: Key = { namespace, name: payload.name }
    const live = await world.objects.get<ConfigMap & Secret>(payloadKind(payload), key)
    if (!live || !isOwn(live, cluster.name)) continue
    for (const text of readText(live, payload.kind)) {
      for (const manifest of parseManifests(text, `${payload.kind} ${namespace}/${payload.name}`)) {
        if (NEVER_DELETED.has(manifest.kind)) continue
        const { name: objectName, namespace: at } = manifest.metadata
        await workload.objects
          .delete(parseKindRef(manifest), { ...(at ? { namespace: at } : {}), name: objectName })
          .catch(ignore('KindNotServed'))
      }
    }
    payloads.forget(namespace, payload.name)
    await world.objects.delete(payloadKind(payload), key)
  }
  await world.objects.delete(kind, { namespace, name })
  world.events.emit(observed.delivery, {
    type: 'Normal',
    reason: 'Retired',
    message: `Removed what ClusterResourceSet ${name} had delivered: no stage needs it any more`,
    action: 'Retire',
  })
}

/** A payload that several Clusters share stays: others still need what it delivers. */
const isOwn = ({ metadata }: AnyObject, cluster: string): boolean =>
  metadata.labels?.[MANAGED_LABEL] === 'true' && metadata.labels[CLUSTER_NAME_LABEL] === cluster

function payloadsOf({ spec }: UnknownObject): readonly { kind: 'ConfigMap' | 'Secret'; name: string }[] {
  const resources: readonly unknown[] = isPlainObject(spec) && Array.isArray(spec['resources']) ? spec['resources'] : []
  return resources.flatMap((one) =>
    isPlainObject(one) && typeof one['name'] === 'string'
      ? [{ kind: one['kind'] === 'Secret' ? ('Secret' as const) : ('ConfigMap' as const), name: one['name'] }]
      : [],
  )
}
