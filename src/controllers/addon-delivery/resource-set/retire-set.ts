// Takes away a ClusterResourceSet that its stage no longer needs. Core never deletes what leaves a set, so the objects that
// it delivered go first, then its payload, then the set. Safe to repeat: each step finds less than the one before.
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type ConfigMap,
  clusterResourceSetKind,
  type Key,
  keyOf,
  type Secret,
  type UnknownObject,
} from '#api'
import { ignore, type Objects } from '#kube'
import { fieldsOf } from '#lib'
import type { World } from '#runtime'
import { parseKindRef } from '../manifests/kind-ref.ts'
import { type Manifest, parseManifests } from '../manifests/manifests.ts'
import { clusterOf, MANAGED_LABEL } from '../names.ts'
import type { Observer } from '../observe.ts'
import type { ObservedDelivery } from '../observed.ts'
import { payloadKind, readText } from './payloads.ts'

/** Deleting one of these deletes what others put into it. */
const NEVER_DELETED = new Set(['Namespace', 'CustomResourceDefinition'])

export async function retireSet(world: World, observer: Observer, observed: ObservedDelivery, name: string) {
  const wasThere = await removeSet(world, observer, observed, name, async (workload, manifest, isShared) => {
    if (isShared || NEVER_DELETED.has(manifest.kind)) return
    await workload.delete(parseKindRef(manifest), keyOf(manifest)).catch(ignore('KindNotServed'))
  })
  if (!wasThere) return
  world.events.emit(observed.delivery, {
    type: 'Normal',
    reason: 'Retired',
    message: `Removed what ClusterResourceSet ${name} had delivered: no stage needs it any more`,
    action: 'Retire',
  })
}

/** Leaves the objects to their new owner. */
export async function handOverSet(
  world: World,
  observer: Observer,
  observed: ObservedDelivery,
  name: string,
  to: string,
) {
  const body = { metadata: { labels: { [MANAGED_LABEL]: null } } }
  const wasThere = await removeSet(world, observer, observed, name, async (workload, manifest) => {
    await workload
      .patch(parseKindRef(manifest), keyOf(manifest), { type: 'merge', body })
      .catch(ignore('NotFound', 'KindNotServed'))
  })
  if (!wasThere) return
  world.events.emit(observed.delivery, {
    type: 'Normal',
    reason: 'HandedOver',
    message: `What ClusterResourceSet ${name} had delivered is kept ${to}: capt no longer writes it`,
    action: 'HandOver',
  })
}

type Leave = (workload: Objects, manifest: Manifest, isShared: boolean) => Promise<void>

async function removeSet(
  world: World,
  { ports, payloads }: Observer,
  observed: ObservedDelivery,
  name: string,
  leave: Leave,
): Promise<boolean> {
  const cluster = clusterOf(observed.delivery)
  const { namespace } = cluster
  const kind = clusterResourceSetKind(ports.resourceSets!)
  const set = await world.objects.get<UnknownObject>(kind, { namespace, name })
  const workload = await ports.workloads.open(cluster)
  if (!set || !workload) return false
  for (const payload of payloadsOf(set)) {
    const key: Key = { namespace, name: payload.name }
    const live = await world.objects.get<ConfigMap & Secret>(payloadKind(payload), key)
    if (!live) continue
    const isShared = !isOwn(live, cluster.name)
    for (const text of readText(live, payload.kind))
      for (const manifest of parseManifests(text, `${payload.kind} ${namespace}/${payload.name}`))
        await leave(workload.objects, manifest, isShared)
    if (isShared) continue
    payloads.forget(namespace, payload.name)
    await world.objects.delete(payloadKind(payload), key)
  }
  await world.objects.delete(kind, { namespace, name })
  return true
}

/** A payload that several Clusters share stays: others still need what it delivers. */
const isOwn = ({ metadata }: AnyObject, cluster: string): boolean =>
  metadata.labels?.[MANAGED_LABEL] === 'true' && metadata.labels[CLUSTER_NAME_LABEL] === cluster

function payloadsOf({ spec }: UnknownObject): readonly { kind: 'ConfigMap' | 'Secret'; name: string }[] {
  const { resources } = fieldsOf(spec)
  return (Array.isArray(resources) ? resources.map(fieldsOf) : []).flatMap(({ kind, name }) =>
    typeof name === 'string' ? [{ kind: kind === 'Secret' ? ('Secret' as const) : ('ConfigMap' as const), name }] : [],
  )
}
