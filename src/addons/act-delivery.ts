// Carries out what was decided. Every action may be done twice without harm.
import { AddonDelivery, CLUSTER_NAME_LABEL, clusterKind, clusterResourceSetKind, type KindRef, keyOf, MOVE_LABEL, type OwnerReference, type UnknownObject } from '#api'
import { isKubeError } from '#kube'
import { CaptError, toTimestamp } from '#lib'
import { addFinalizer, removeFinalizer, withOwner, type World } from '#runtime'
import { carryOver } from './carry.ts'
import { carrierKind, renderCarrier } from './carriers.ts'
import type { DeliveryAction, DeliverySeen } from './delivery-seen.ts'
import { HelmReleaseKind } from './health-read.ts'
import { CLUSTER_LABEL, DELIVERY_FINALIZER, GATES_ANNOTATION, NUDGE_ANNOTATION, PIPELINE_LABEL, STAGE_LABEL } from './names.ts'
import type { Observer } from './observe-delivery.ts'
import type { Workload } from './port.ts'
import { compareSet, renderSet } from './resource-sets.ts'
import type { Part } from './render-stage.ts'
import { splitManifests } from './manifests.ts'
import { actTeardown } from './act-teardown.ts'
import { formatGates, parseGates } from './wish.ts'

export async function actDelivery(world: World, observer: Observer, seen: DeliverySeen, action: DeliveryAction): Promise<void> {
  switch (action.do) {
    case 'add-finalizer':
      return await addFinalizer(world.objects, AddonDelivery, seen.delivery, DELIVERY_FINALIZER)
    case 'remove-finalizer':
      observer.watches.release({ namespace: seen.delivery.metadata.namespace!, name: seen.delivery.spec.clusterName })
      return await removeFinalizer(world.objects, AddonDelivery, seen.delivery, DELIVERY_FINALIZER)
    case 'adopt':
      return await adopt(world, observer, seen)
    case 'label-cluster':
      return await labelCluster(world, observer, seen, { [CLUSTER_LABEL]: seen.delivery.spec.clusterName })
    case 'open-gate':
      return await openGate(world, observer, seen, action.label)
    case 'deliver':
      return await deliver(world, observer, seen, action.stage, action.part)
    case 'nudge':
      return await nudge(world, seen, action.stage, action.part, action.attempt)
    case 'retry-release':
      return await retryRelease(world, observer, seen, action)
    case 'teardown':
      return await actTeardown(world, observer, seen, action.action)
  }
}

/** A delivery that a person wrote gets what capt's own have: the label and the owner by which others find it. */
async function adopt(world: World, observer: Observer, seen: DeliverySeen): Promise<void> {
  const { metadata, spec } = seen.delivery
  const labels = { [CLUSTER_NAME_LABEL]: spec.clusterName, [PIPELINE_LABEL]: spec.pipelineRef.name, [MOVE_LABEL]: '' }
  const ownerReferences = withOwner(metadata.ownerReferences, clusterOwner(world, observer, seen))
  const body = { metadata: { resourceVersion: metadata.resourceVersion, labels, ownerReferences } }
  await world.objects.patch(AddonDelivery, keyOf(seen.delivery), { type: 'merge', body })
}

export async function labelCluster(world: World, { ports }: Observer, seen: DeliverySeen, labels: Readonly<Record<string, string | null>>): Promise<void> {
  const key = { namespace: seen.delivery.metadata.namespace!, name: seen.delivery.spec.clusterName }
  await world.objects.patch(clusterKind(ports.clusterApi), key, { type: 'merge', body: { metadata: { labels } } })
}

/** Written down before it is done: a label that nobody remembers setting would look like a person's wish. */
async function openGate(world: World, observer: Observer, seen: DeliverySeen, label: string): Promise<void> {
  const gates = parseGates(seen.delivery.metadata.annotations?.[GATES_ANNOTATION])
  const isSet = seen.cluster?.labels[label] === 'true'
  if (!gates.has(label)) {
    const annotations = { [GATES_ANNOTATION]: formatGates(new Map([...gates, [label, isSet ? 'person' : 'capt']])) }
    await world.objects.patch(AddonDelivery, keyOf(seen.delivery), { type: 'merge', body: { metadata: { annotations } } })
  }
  if (!isSet) await labelCluster(world, observer, seen, { [label]: 'true' })
  const stage = seen.stages.find((one) => one.stage.gateLabel === label)?.stage.name
  world.events.emit(seen.delivery, { type: 'Normal', reason: 'GateOpened', message: `Opened the gate ${label} for ${stage}`, action: 'OpenGate' })
}

function partOf(seen: DeliverySeen, stage: string, index: number): Part {
  const part = seen.stages.find((one) => one.stage.name === stage)?.parts[index]
  if (!part) throw new CaptError('CAPT_INTERNAL', `Stage ${stage} has no part ${index}`)
  return part.part
}

async function deliver(world: World, observer: Observer, seen: DeliverySeen, stage: string, index: number): Promise<void> {
  const { ports, carriers } = observer
  const part = partOf(seen, stage, index)
  const namespace = seen.delivery.metadata.namespace!
  const owner = clusterOwner(world, observer, seen)
  const texts = await carriedTexts(observer, seen, part)
  for (const [at, carrier] of part.carriers.entries()) {
    const wish = { namespace, cluster: seen.delivery.spec.clusterName, stage, owner, carrier, text: texts[at]!, clusterApi: ports.clusterApi }
    carriers.forget(namespace, carrier.name)
    await world.objects.apply(carrierKind(carrier), renderCarrier(wish), { fieldManager: 'capt-addons' })
  }
  await writeSet(world, observer, seen, stage, part, owner)
}

/** Carriers of one cluster take over what others put on the live objects; a shared carrier cannot. */
async function carriedTexts({ ports }: Observer, seen: DeliverySeen, part: Part): Promise<readonly string[]> {
  const plain = part.carriers.map((carrier) => carrier.text)
  if (part.carriers.some((carrier) => carrier.shared)) return plain
  const workload = await ports.workloads.open({ namespace: seen.delivery.metadata.namespace!, name: seen.delivery.spec.clusterName })
  if (!workload) return plain
  const texts = splitManifests(await carryOver(workload.objects, part.manifests))
  return texts.length === plain.length ? texts : plain
}

function clusterOwner(world: World, { ports }: Observer, seen: DeliverySeen): OwnerReference {
  const kind = clusterKind(ports.clusterApi)
  const live = world.cache.get(kind, { namespace: seen.delivery.metadata.namespace!, name: seen.delivery.spec.clusterName })
  const uid = live?.metadata.uid ?? seen.cluster?.uid ?? ''
  return { apiVersion: `${kind.group}/${kind.version}`, kind: kind.kind, name: seen.delivery.spec.clusterName, uid }
}

async function writeSet(world: World, { ports }: Observer, seen: DeliverySeen, stage: string, part: Part, owner: OwnerReference): Promise<void> {
  const kind: KindRef = clusterResourceSetKind(ports.resourceSets!)
  const namespace = seen.delivery.metadata.namespace!
  const cluster = seen.delivery.spec.clusterName
  const gateLabel = seen.stages.find((one) => one.stage.name === stage)?.stage.gateLabel
  const wish = { version: ports.resourceSets!, namespace, cluster, owner, pipeline: seen.delivery.spec.pipelineRef.name, stage, gateLabel, part }
  const key = { namespace, name: part.set }
  const live = await world.objects.get<UnknownObject>(kind, key)
  if (!live) {
    await world.objects.create(kind, renderSet(wish))
    world.events.emit(seen.delivery, { type: 'Normal', reason: 'Delivering', message: `Made ClusterResourceSet ${part.set}`, action: 'Deliver' })
    return
  }
  if (live.metadata.labels?.[STAGE_LABEL] !== stage)
    throw new CaptError('CAPT_SET_FOREIGN', `ClusterResourceSet ${part.set} exists and is not capt's`, { hint: 'Rename or delete it; capt does not overwrite it' })
  const difference = compareSet(live, wish)
  // Selector and strategy are fixed for life: the set is made anew, while its label still matches, so that core cleans up.
  if (difference === 'selector') return await world.objects.delete(kind, key, { ...(live.metadata.uid ? { uid: live.metadata.uid } : {}) })
  if (difference === 'resources') {
    const { spec } = renderSet(wish) as { spec?: { resources: unknown } }
    await world.objects.patch(kind, key, { type: 'merge', body: { spec: { resources: spec!.resources } } })
  }
}

/** Core watches carriers: an annotation that changes ends its backoff at once. */
async function nudge(world: World, seen: DeliverySeen, stage: string, index: number, attempt: number): Promise<void> {
  const namespace = seen.delivery.metadata.namespace!
  const stamp = `${attempt} ${toTimestamp(seen.nowMs)}`
  for (const carrier of partOf(seen, stage, index).carriers) {
    const body = { metadata: { annotations: { [NUDGE_ANNOTATION]: stamp } } }
    await world.objects.patch(carrierKind(carrier), { namespace, name: carrier.name }, { type: 'merge', body })
  }
  world.events.emit(seen.delivery, { type: 'Warning', reason: 'Retrying', message: `Retry ${attempt} of stage ${stage}`, action: 'Retry' })
}

async function retryRelease(world: World, { ports }: Observer, seen: DeliverySeen, action: { readonly namespace: string; readonly name: string; readonly attempt: number }): Promise<void> {
  const workload: Workload | undefined = await ports.workloads.open({ namespace: seen.delivery.metadata.namespace!, name: seen.delivery.spec.clusterName })
  const token = `capt-${action.attempt}-${seen.nowMs}`
  const annotations = { 'reconcile.fluxcd.io/requestedAt': token, 'reconcile.fluxcd.io/resetAt': token }
  try {
    await workload?.objects.patch(HelmReleaseKind, { namespace: action.namespace, name: action.name }, { type: 'merge', body: { metadata: { annotations } } })
  } catch (error) {
    if (!isKubeError(error, 'NotFound', 'KindNotServed')) throw error
  }
  world.events.emit(seen.delivery, { type: 'Warning', reason: 'Retrying', message: `Retry ${action.attempt} of HelmRelease ${action.name}`, action: 'Retry' })
}
