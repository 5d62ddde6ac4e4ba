// Writes one part of a stage into the management cluster: its carriers first, then the set that names them.
import {
  clusterKind,
  clusterResourceSetBindingKind,
  clusterResourceSetKind,
  type KindRef,
  type OwnerReference,
  type UnknownObject,
} from '#api'
import { CaptError, toTimestamp } from '#lib'
import type { World } from '#runtime'
import { carrierKind, renderCarrier } from './carriers.ts'
import { carryOver } from './carry.ts'
import type { DeliveryAction, DeliverySeen } from './delivery-seen.ts'
import { splitManifests } from './manifests.ts'
import { STAGE_LABEL } from './names.ts'
import type { Observer } from './observe-delivery.ts'
import { type Part, toOwnPart } from './render-part.ts'
import { compareSet, isRemembered, renderSet } from './resource-sets.ts'

export function partOf(seen: DeliverySeen, stage: string, index: number): Part {
  const part = seen.stages.find((one) => one.stage.name === stage)?.parts[index]
  if (!part) throw new CaptError('CAPT_INTERNAL', `Stage ${stage} has no part ${index}`)
  return part.part
}

export async function deliverPart(
  world: World,
  observer: Observer,
  seen: DeliverySeen,
  stage: string,
  index: number,
): Promise<void> {
  const part = partOf(seen, stage, index)
  const { resourceSets } = observer.ports
  const namespace = seen.delivery.metadata.namespace!
  const cluster = seen.delivery.spec.clusterName
  const live = world.cache.get(clusterResourceSetKind(resourceSets!), { namespace, name: part.set })
  const binding = world.cache.get(clusterResourceSetBindingKind(resourceSets!), { namespace, name: cluster })
  if (!isRemembered(live, binding, part)) return await writePart(world, observer, seen, stage, part)
  await writePart(world, observer, seen, stage, toOwnPart(part, stage, cluster), remarkOf(seen))
}

const remarkOf = (seen: DeliverySeen) => `Delivered again at ${toTimestamp(seen.nowMs)}`

/**
 * Makes core apply a part once more. core skips a resource whose hash its binding has recorded, resource by resource: a
 * touched annotation or one more resource beside it changes nothing, so the text itself gets a comment that was never
 * there. In a shared carrier that comment would make every Cluster of the namespace apply again; this Cluster's set is
 * turned to a carrier of its own instead.
 */
export async function redeliverPart(
  world: World,
  observer: Observer,
  seen: DeliverySeen,
  { stage, part: index, why }: Extract<DeliveryAction, { do: 'redeliver' }>,
): Promise<void> {
  const part = toOwnPart(partOf(seen, stage, index), stage, seen.delivery.spec.clusterName)
  observer.presence.forget(`${seen.delivery.metadata.namespace}/${part.set}`)
  await writePart(world, observer, seen, stage, part, remarkOf(seen))
  world.events.emit(seen.delivery, {
    type: 'Warning',
    reason: 'Redelivering',
    message: `Delivering again: ${why}`,
    action: 'Redeliver',
  })
}

async function writePart(
  world: World,
  observer: Observer,
  seen: DeliverySeen,
  stage: string,
  part: Part,
  remark?: string,
): Promise<void> {
  const { ports, carriers } = observer
  const namespace = seen.delivery.metadata.namespace!
  const owner = clusterOwner(world, observer, seen)
  const texts = await carriedTexts(observer, seen, part)
  for (const [at, carrier] of part.carriers.entries()) {
    const wish = {
      namespace,
      cluster: seen.delivery.spec.clusterName,
      stage,
      owner,
      carrier,
      text: remark === undefined ? texts[at]! : withRemark(texts[at]!, remark),
      clusterApi: ports.clusterApi,
    }
    carriers.forget(namespace, carrier.name)
    await world.objects.apply(carrierKind(carrier), renderCarrier(wish), { fieldManager: 'capt-addons' })
  }
  await writeSet(world, observer, seen, stage, part, owner)
}

/** Inside the first document: a comment before it would be a document of its own. */
const withRemark = (text: string, remark: string) => text.replace(/^(---\n)?/, `$1# ${remark}\n`)

/** Carriers of one cluster take over what others put on the live objects; a shared carrier cannot. */
async function carriedTexts({ ports }: Observer, seen: DeliverySeen, part: Part): Promise<readonly string[]> {
  const plain = part.carriers.map((carrier) => carrier.text)
  if (part.carriers.some((carrier) => carrier.shared)) return plain
  const workload = await ports.workloads.open({
    namespace: seen.delivery.metadata.namespace!,
    name: seen.delivery.spec.clusterName,
  })
  if (!workload) return plain
  const texts = splitManifests(await carryOver(workload.objects, part.manifests))
  return texts.length === plain.length ? texts : plain
}

export function clusterOwner(world: World, { ports }: Observer, seen: DeliverySeen): OwnerReference {
  const kind = clusterKind(ports.clusterApi)
  const live = world.cache.get(kind, {
    namespace: seen.delivery.metadata.namespace!,
    name: seen.delivery.spec.clusterName,
  })
  const uid = live?.metadata.uid ?? seen.cluster?.uid ?? ''
  return { apiVersion: `${kind.group}/${kind.version}`, kind: kind.kind, name: seen.delivery.spec.clusterName, uid }
}

async function writeSet(
  world: World,
  { ports }: Observer,
  seen: DeliverySeen,
  stage: string,
  part: Part,
  owner: OwnerReference,
): Promise<void> {
  const kind: KindRef = clusterResourceSetKind(ports.resourceSets!)
  const namespace = seen.delivery.metadata.namespace!
  const cluster = seen.delivery.spec.clusterName
  const gateLabel = seen.stages.find((one) => one.stage.name === stage)?.stage.gateLabel
  const wish = {
    version: ports.resourceSets!,
    namespace,
    cluster,
    owner,
    pipeline: seen.delivery.spec.pipelineRef.name,
    stage,
    gateLabel,
    part,
  }
  const key = { namespace, name: part.set }
  const live = await world.objects.get<UnknownObject>(kind, key)
  if (!live) {
    await world.objects.create(kind, renderSet(wish))
    world.events.emit(seen.delivery, {
      type: 'Normal',
      reason: 'Delivering',
      message: `Made ClusterResourceSet ${part.set}`,
      action: 'Deliver',
    })
    return
  }
  if (live.metadata.labels?.[STAGE_LABEL] !== stage)
    throw new CaptError('CAPT_SET_FOREIGN', `ClusterResourceSet ${part.set} exists and is not capt's`, {
      hint: 'Rename or delete it; capt does not overwrite it',
    })
  const difference = compareSet(live, wish)
  // Selector and strategy are fixed for life: the set is made anew, while its label still matches, so that core cleans up.
  if (difference === 'selector')
    return await world.objects.delete(kind, key, { ...(live.metadata.uid ? { uid: live.metadata.uid } : {}) })
  if (difference === 'resources') {
    const { spec } = renderSet(wish) as { spec?: { resources: unknown } }
    await world.objects.patch(kind, key, { type: 'merge', body: { spec: { resources: spec!.resources } } })
  }
}
