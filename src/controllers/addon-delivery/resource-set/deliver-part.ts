// Writes one part of a stage into the management cluster: its payloads first, then the set that names them.
import {
  type AddonStage,
  apiVersionOf,
  clusterKind,
  clusterResourceSetBindingKind,
  clusterResourceSetKind,
  type OwnerReference,
  type UnknownObject,
} from '#api'
import { CaptError, jsonEqual, toTimestamp } from '#lib'
import type { World } from '#runtime'
import { splitManifests } from '../manifests/manifests.ts'
import { clusterOf, STAGE_LABEL } from '../names.ts'
import type { Observer } from '../observe.ts'
import type { DeliveryAction, ObservedDelivery } from '../observed.ts'
import { withLiveMetadata } from './payload-fields.ts'
import { payloadKind, renderPayload } from './payloads.ts'
import { type Part, toOwnPart } from './render-part.ts'
import { compareSet, isRemembered, renderSet } from './resource-sets.ts'

export async function deliverPart(
  world: World,
  observer: Observer,
  observed: ObservedDelivery,
  { stage, part }: Extract<DeliveryAction, { do: 'deliver' }>,
): Promise<void> {
  const { resourceSets } = observer.ports
  const namespace = observed.delivery.metadata.namespace!
  const cluster = observed.delivery.spec.clusterName
  const live = world.cache.get(clusterResourceSetKind(resourceSets!), { namespace, name: part.set })
  const binding = world.cache.get(clusterResourceSetBindingKind(resourceSets!), { namespace, name: cluster })
  if (!isRemembered(live, binding, part)) {
    const isOwn = live !== undefined && (await hasForeignMetadata(observer, observed, part))
    return await writePart(world, observer, observed, stage, isOwn ? toOwnPart(part, stage.name, cluster) : part)
  }
  await writePart(world, observer, observed, stage, toOwnPart(part, stage.name, cluster), remarkOf(observed))
}

const remarkOf = (observed: ObservedDelivery) => `Delivered again at ${toTimestamp(observed.nowMs)}`

/**
 * Makes core apply a part once more. core skips a resource whose hash its binding has recorded, resource by resource: a
 * touched annotation or one more resource beside it changes nothing, so the text itself gets a comment that was never
 * there. In a shared payload that comment would make every Cluster of the namespace apply again; this Cluster's set is
 * switched to a payload of its own instead.
 */
export async function redeliverPart(
  world: World,
  observer: Observer,
  observed: ObservedDelivery,
  { stage, part: rendered, why }: Extract<DeliveryAction, { do: 'redeliver' }>,
): Promise<void> {
  const part = toOwnPart(rendered, stage.name, observed.delivery.spec.clusterName)
  observer.presence.forget(`${observed.delivery.metadata.namespace}/${part.set}`)
  await writePart(world, observer, observed, stage, part, remarkOf(observed))
  world.events.emit(observed.delivery, {
    type: 'Warning',
    reason: 'Redelivering',
    message: `Delivering again: ${why}`,
    action: 'Redeliver',
  })
}

async function writePart(
  world: World,
  observer: Observer,
  observed: ObservedDelivery,
  stage: AddonStage,
  part: Part,
  remark?: string,
): Promise<void> {
  const { payloads } = observer
  const namespace = observed.delivery.metadata.namespace!
  const owner = clusterOwner(world, observer, observed)
  const texts = await textsToDeliver(observer, observed, part)
  for (const [at, payload] of part.payloads.entries()) {
    const options = {
      namespace,
      cluster: observed.delivery.spec.clusterName,
      stage: stage.name,
      owner,
      payload,
      text: remark === undefined ? texts[at]! : withRemark(texts[at]!, remark),
    }
    payloads.forget(namespace, payload.name)
    await world.objects.apply(payloadKind(payload), renderPayload(options), { fieldManager: 'capt-addons' })
  }
  await writeSet(world, observer, observed, stage, part, owner)
}

/** Inside the first document: a comment before it would be a document of its own. */
const withRemark = (text: string, remark: string) => text.replace(/^(---\n)?/, `$1# ${remark}\n`)

/** Payloads of one cluster include the live metadata that others added; a shared payload cannot. */
async function textsToDeliver({ ports }: Observer, observed: ObservedDelivery, part: Part): Promise<readonly string[]> {
  const plain = part.payloads.map((payload) => payload.text)
  if (part.payloads.some((payload) => payload.shared)) return plain
  const workload = await ports.workloads.open(clusterOf(observed.delivery))
  if (!workload) return plain
  const texts = splitManifests(await withLiveMetadata(workload.objects, part.manifests))
  return texts.length === plain.length ? texts : plain
}

/** Others marked objects of a shared payload in this cluster: an update by that payload would take the marks off. */
async function hasForeignMetadata({ ports }: Observer, { delivery }: ObservedDelivery, part: Part): Promise<boolean> {
  if (!part.payloads.some((payload) => payload.shared)) return false
  const workload = await ports.workloads.open(clusterOf(delivery))
  if (!workload) return false
  return !jsonEqual(await withLiveMetadata(workload.objects, part.manifests), part.manifests)
}

export function clusterOwner(world: World, { ports }: Observer, observed: ObservedDelivery): OwnerReference {
  const kind = clusterKind(ports.clusterApi)
  const key = clusterOf(observed.delivery)
  const uid = world.cache.get(kind, key)?.metadata.uid ?? observed.cluster?.uid ?? ''
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, name: key.name, uid }
}

async function writeSet(
  world: World,
  { ports }: Observer,
  observed: ObservedDelivery,
  stage: AddonStage,
  part: Part,
  owner: OwnerReference,
): Promise<void> {
  const kind = clusterResourceSetKind(ports.resourceSets!)
  const namespace = observed.delivery.metadata.namespace!
  const cluster = observed.delivery.spec.clusterName
  const options = {
    version: ports.resourceSets!,
    namespace,
    cluster,
    owner,
    pipeline: observed.delivery.spec.pipelineRef.name,
    stage: stage.name,
    gateLabel: stage.gateLabel,
    part,
  }
  const key = { namespace, name: part.set }
  const live = await world.objects.get<UnknownObject>(kind, key)
  if (!live) {
    await world.objects.create(kind, renderSet(options))
    world.events.emit(observed.delivery, {
      type: 'Normal',
      reason: 'Delivering',
      message: `Made ClusterResourceSet ${part.set}`,
      action: 'Deliver',
    })
    return
  }
  if (live.metadata.labels?.[STAGE_LABEL] !== stage.name)
    throw new CaptError('CAPT_SET_FOREIGN', `ClusterResourceSet ${part.set} exists and is not capt's`, {
      hint: 'Rename or delete it; capt does not overwrite it',
    })
  const difference = compareSet(live, options)
  // Selector and strategy are immutable: the set is recreated while its label still matches, so that core cleans up.
  if (difference === 'selector')
    return await world.objects.delete(kind, key, { ...(live.metadata.uid ? { uid: live.metadata.uid } : {}) })
  if (difference === 'resources') {
    const { spec } = renderSet(options) as { spec?: { resources: unknown } }
    await world.objects.patch(kind, key, { type: 'merge', body: { spec: { resources: spec!.resources } } })
  }
}
