// Carries out what was decided. Every action may be done twice without harm.
import { AddonDelivery, CLUSTER_NAME_LABEL, clusterKind, keyOf, MOVE_LABEL } from '#api'
import { isKubeError } from '#kube'
import { toTimestamp } from '#lib'
import { addFinalizer, removeFinalizer, type World, withOwner } from '#runtime'
import { createProbe, removeProbe } from './act-probe.ts'
import { actTeardown } from './act-teardown.ts'
import { carrierKind } from './carriers.ts'
import { clusterOwner, deliverPart, partOf, redeliverPart } from './deliver-part.ts'
import type { DeliveryAction, DeliverySeen } from './delivery-seen.ts'
import { HelmReleaseKind } from './health-read.ts'
import { CLUSTER_LABEL, DELIVERY_FINALIZER, GATES_ANNOTATION, NUDGE_ANNOTATION, PIPELINE_LABEL } from './names.ts'
import type { Observer } from './observe-delivery.ts'
import type { Workload } from './port.ts'
import { retireSet } from './retire-set.ts'
import { formatGates, parseGates } from './wish.ts'

export async function actDelivery(
  world: World,
  observer: Observer,
  seen: DeliverySeen,
  action: DeliveryAction,
): Promise<void> {
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
      return await deliverPart(world, observer, seen, action.stage, action.part)
    case 'redeliver':
      return await redeliverPart(world, observer, seen, action)
    case 'nudge':
      return await nudge(world, seen, action.stage, action.part, action.attempt)
    case 'retry-flux':
      return await retryFlux(world, observer, seen, action)
    case 'retire-set':
      return await retireSet(world, observer, seen, action.set)
    case 'create-probe':
      return await createProbe(world, observer, seen, action.stage)
    case 'remove-probe':
      return await removeProbe(observer, seen, action.stage)
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

export async function labelCluster(
  world: World,
  { ports }: Observer,
  seen: DeliverySeen,
  labels: Readonly<Record<string, string | null>>,
): Promise<void> {
  const key = { namespace: seen.delivery.metadata.namespace!, name: seen.delivery.spec.clusterName }
  await world.objects.patch(clusterKind(ports.clusterApi), key, { type: 'merge', body: { metadata: { labels } } })
}

/** Written down before it is done: a label that nobody remembers setting would look like a person's wish. */
async function openGate(world: World, observer: Observer, seen: DeliverySeen, label: string): Promise<void> {
  const gates = parseGates(seen.delivery.metadata.annotations?.[GATES_ANNOTATION])
  const isSet = seen.cluster?.labels[label] === 'true'
  if (!gates.has(label)) {
    const annotations = { [GATES_ANNOTATION]: formatGates(new Map([...gates, [label, isSet ? 'person' : 'capt']])) }
    await world.objects.patch(AddonDelivery, keyOf(seen.delivery), {
      type: 'merge',
      body: { metadata: { annotations } },
    })
  }
  if (!isSet) await labelCluster(world, observer, seen, { [label]: 'true' })
  const stage = seen.stages.find((one) => one.stage.gateLabel === label)?.stage.name
  world.events.emit(seen.delivery, {
    type: 'Normal',
    reason: 'GateOpened',
    message: `Opened the gate ${label} for ${stage}`,
    action: 'OpenGate',
  })
}

/** Core watches carriers: an annotation that changes ends its backoff at once. */
async function nudge(world: World, seen: DeliverySeen, stage: string, index: number, attempt: number): Promise<void> {
  const namespace = seen.delivery.metadata.namespace!
  const stamp = `${attempt} ${toTimestamp(seen.nowMs)}`
  for (const carrier of partOf(seen, stage, index).carriers) {
    const body = { metadata: { annotations: { [NUDGE_ANNOTATION]: stamp } } }
    await world.objects.patch(carrierKind(carrier), { namespace, name: carrier.name }, { type: 'merge', body })
  }
  world.events.emit(seen.delivery, {
    type: 'Warning',
    reason: 'Retrying',
    message: `Retry ${attempt} of stage ${stage}`,
    action: 'Retry',
  })
}

async function retryFlux(
  world: World,
  { ports }: Observer,
  seen: DeliverySeen,
  { target, attempt }: Extract<DeliveryAction, { do: 'retry-flux' }>,
): Promise<void> {
  const workload: Workload | undefined = await ports.workloads.open({
    namespace: seen.delivery.metadata.namespace!,
    name: seen.delivery.spec.clusterName,
  })
  const token = `capt-${attempt}-${seen.nowMs}`
  const isRelease = target.kind.kind === HelmReleaseKind.kind
  const annotations = {
    'reconcile.fluxcd.io/requestedAt': token,
    // Only releases count their attempts.
    ...(isRelease ? { 'reconcile.fluxcd.io/resetAt': token } : {}),
  }
  try {
    await workload?.objects.patch(target.kind, target.key, { type: 'merge', body: { metadata: { annotations } } })
  } catch (error) {
    if (!isKubeError(error, 'NotFound', 'KindNotServed')) throw error
  }
  world.events.emit(seen.delivery, {
    type: 'Warning',
    reason: 'Retrying',
    message: `Retry ${attempt} of ${target.kind.kind} ${target.key.name}`,
    action: 'Retry',
  })
}
