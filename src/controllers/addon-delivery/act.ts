// Executes what was decided. Every action is idempotent.
import { AddonDelivery, CLUSTER_NAME_LABEL, keyOf, MOVE_LABEL } from '#api'
import { ignore } from '#kube'
import { toTimestamp } from '#lib'
import { addFinalizer, removeFinalizer, type World, withOwner } from '#runtime'
import { HelmReleaseKind } from './health/read.ts'
import { labelCluster } from './label-cluster.ts'
import {
  CLUSTER_LABEL,
  CONFIRM_REMOVAL_ANNOTATION,
  clusterOf,
  DELIVERY_FINALIZER,
  GATES_ANNOTATION,
  NUDGE_ANNOTATION,
  PIPELINE_LABEL,
} from './names.ts'
import type { Observer } from './observe.ts'
import type { DeliveryAction, ObservedDelivery } from './observed.ts'
import { createProbe, removeProbe } from './probe/act.ts'
import { clusterOwner, deliverPart, redeliverPart } from './resource-set/deliver-part.ts'
import { payloadKind } from './resource-set/payloads.ts'
import { handOverSet, retireSet } from './resource-set/retire-set.ts'
import { formatGates, parseGates } from './stages/request.ts'
import { actTeardown } from './teardown/act.ts'

export async function actDelivery(
  world: World,
  observer: Observer,
  observed: ObservedDelivery,
  action: DeliveryAction,
): Promise<void> {
  switch (action.do) {
    case 'add-finalizer':
      return await addFinalizer(world.objects, AddonDelivery, observed.delivery, DELIVERY_FINALIZER)
    case 'remove-finalizer':
      observer.watches.release(clusterOf(observed.delivery))
      return await removeFinalizer(world.objects, AddonDelivery, observed.delivery, DELIVERY_FINALIZER)
    case 'adopt':
      return await adopt(world, observer, observed)
    case 'label-cluster':
      return await labelCluster(world, observer, observed, { [CLUSTER_LABEL]: observed.delivery.spec.clusterName })
    case 'clear-confirmation':
      return await clearConfirmation(world, observed)
    case 'open-gate':
      return await openGate(world, observer, observed, action)
    case 'deliver':
      return await deliverPart(world, observer, observed, action)
    case 'redeliver':
      return await redeliverPart(world, observer, observed, action)
    case 'nudge':
      return await nudge(world, observed, action)
    case 'retry-flux':
      return await retryFlux(world, observer, observed, action)
    case 'retire-set':
      return await retireSet(world, observer, observed, action.set)
    case 'hand-over-set':
      return await handOverSet(world, observer, observed, action.set, action.to)
    case 'create-probe':
      return await createProbe(world, observer, observed, action.pod)
    case 'remove-probe':
      return await removeProbe(observer, observed, action.stage)
    case 'teardown':
      return await actTeardown(world, observer, observed, action.action)
  }
}

/** A delivery that a person wrote gets the labels and the owner reference that capt's own have. */
async function adopt(world: World, observer: Observer, observed: ObservedDelivery): Promise<void> {
  const { metadata, spec } = observed.delivery
  const labels = { [CLUSTER_NAME_LABEL]: spec.clusterName, [PIPELINE_LABEL]: spec.pipelineRef.name, [MOVE_LABEL]: '' }
  const ownerReferences = withOwner(metadata.ownerReferences, clusterOwner(world, observer, observed))
  const body = { metadata: { resourceVersion: metadata.resourceVersion, labels, ownerReferences } }
  await world.objects.patch(AddonDelivery, keyOf(observed.delivery), { type: 'merge', body })
}

async function clearConfirmation(world: World, { delivery }: ObservedDelivery): Promise<void> {
  const body = { metadata: { annotations: { [CONFIRM_REMOVAL_ANNOTATION]: null } } }
  await world.objects.patch(AddonDelivery, keyOf(delivery), { type: 'merge', body })
}

/** Recorded before the label is set: an unrecorded label would count as a person's request. */
async function openGate(
  world: World,
  observer: Observer,
  observed: ObservedDelivery,
  { label, stage }: Extract<DeliveryAction, { do: 'open-gate' }>,
): Promise<void> {
  const gates = parseGates(observed.delivery.metadata.annotations?.[GATES_ANNOTATION])
  const isSet = observed.cluster?.labels[label] === 'true'
  if (!gates.has(label)) {
    const annotations = { [GATES_ANNOTATION]: formatGates(new Map([...gates, [label, isSet ? 'person' : 'capt']])) }
    await world.objects.patch(AddonDelivery, keyOf(observed.delivery), {
      type: 'merge',
      body: { metadata: { annotations } },
    })
  }
  if (!isSet) await labelCluster(world, observer, observed, { [label]: 'true' })
  world.events.emit(observed.delivery, {
    type: 'Normal',
    reason: 'GateOpened',
    message: `Opened the gate ${label} for ${stage}`,
    action: 'OpenGate',
  })
}

/** Core watches payloads: a changed annotation ends its backoff. */
async function nudge(
  world: World,
  observed: ObservedDelivery,
  { stage, part, attempt }: Extract<DeliveryAction, { do: 'nudge' }>,
): Promise<void> {
  const namespace = observed.delivery.metadata.namespace!
  const stamp = `${attempt} ${toTimestamp(observed.nowMs)}`
  for (const payload of part.payloads) {
    const body = { metadata: { annotations: { [NUDGE_ANNOTATION]: stamp } } }
    await world.objects.patch(payloadKind(payload), { namespace, name: payload.name }, { type: 'merge', body })
  }
  emitRetry(world, observed, `Retry ${attempt} of stage ${stage.name}`)
}

async function retryFlux(
  world: World,
  { ports }: Observer,
  observed: ObservedDelivery,
  { target, attempt }: Extract<DeliveryAction, { do: 'retry-flux' }>,
): Promise<void> {
  const workload = await ports.workloads.open(clusterOf(observed.delivery))
  const token = `capt-${attempt}-${observed.nowMs}`
  const isRelease = target.kind.kind === HelmReleaseKind.kind
  const annotations = {
    'reconcile.fluxcd.io/requestedAt': token,
    // Only releases count their attempts.
    ...(isRelease ? { 'reconcile.fluxcd.io/resetAt': token } : {}),
  }
  await workload?.objects
    .patch(target.kind, target.key, { type: 'merge', body: { metadata: { annotations } } })
    .catch(ignore('NotFound', 'KindNotServed'))
  emitRetry(world, observed, `Retry ${attempt} of ${target.kind.kind} ${target.key.name}`)
}

const emitRetry = ({ events }: World, { delivery }: ObservedDelivery, message: string) =>
  events.emit(delivery, { type: 'Warning', reason: 'Retrying', message, action: 'Retry' })
