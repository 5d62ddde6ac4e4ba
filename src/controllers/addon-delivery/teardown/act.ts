// Executes the steps of a teardown: deletes, strips finalizers that no controller will remove, closes gates.

import { AddonDelivery, type AnyObject, type Key, keyOf } from '#api'
import { ignore, type Objects } from '#kube'
import { ownValue } from '#lib'
import type { World } from '#runtime'
import { labelCluster } from '../label-cluster.ts'
import { clusterOf, GATES_ANNOTATION } from '../names.ts'
import type { Observer } from '../observe.ts'
import type { ObservedDelivery } from '../observed.ts'
import type { DeliveryPorts } from '../ports.ts'
import { payloadKind } from '../resource-set/payloads.ts'
import { formatGates, parseGates } from '../stages/request.ts'
import type { TeardownAction, Thing } from './observed.ts'

export async function actTeardown(
  world: World,
  observer: Observer,
  observed: ObservedDelivery,
  action: TeardownAction,
): Promise<void> {
  if (action.do === 'close-gate') return await closeGate(world, observer, observed, action.stage)
  await actOnWorkload(world, observer.ports, clusterOf(observed.delivery), observed.delivery, action)
}

/** Everything but the gate of a stage. Events are reported about the given object. */
export async function actOnWorkload(
  world: World,
  ports: Pick<DeliveryPorts, 'workloads' | 'instances'>,
  cluster: Key,
  about: AnyObject,
  action: Exclude<TeardownAction, { readonly do: 'close-gate' }>,
): Promise<void> {
  if (action.do === 'terminate') {
    await ports.instances?.terminate(cluster, action.instances)
    world.events.emit(about, {
      type: 'Warning',
      reason: 'InstancesTerminated',
      message: `Terminated ${action.instances.join(', ')}`,
      action: 'Terminate',
    })
    return
  }
  if (action.do === 'remove-network') {
    await ports.instances?.removeNetwork?.(cluster, action.objects)
    world.events.emit(about, {
      type: 'Warning',
      reason: 'NetworkObjectsDeleted',
      message: `Deleted ${action.objects.map(({ kind, id }) => `${kind} ${id}`).join(', ')}`,
      action: 'Delete',
    })
    return
  }
  const isHome = action.do === 'delete' && action.where === 'home'
  const objects = isHome ? world.objects : (await ports.workloads.open(cluster))?.objects
  if (!objects) return
  for (const thing of action.things) {
    if (action.do === 'delete')
      await objects.delete(thing.kind, thing.key, { propagation: action.foreground ? 'Foreground' : 'Background' })
    else await stripFinalizers(objects, thing, action.finalizers)
  }
}

async function stripFinalizers(objects: Objects, thing: Thing, unwanted: readonly string[]): Promise<void> {
  const live = await objects.get<AnyObject>(thing.kind, thing.key)
  if (!live?.metadata.deletionTimestamp) return
  const finalizers = (live.metadata.finalizers ?? []).filter((name) => !unwanted.includes(name))
  const { resourceVersion } = live.metadata
  await objects
    .patch(thing.kind, thing.key, { type: 'merge', body: { metadata: { resourceVersion, finalizers } } })
    .catch(ignore('NotFound'))
}

/** Last of all, so that the stage can come back later as if it had never been there. */
async function closeGate(world: World, observer: Observer, observed: ObservedDelivery, stage: string): Promise<void> {
  const { delivery } = observed
  const own = observed.stages.find((one) => one.stage.name === stage)
  const label = own?.stage.gateLabel
  const gates = new Map(parseGates(delivery.metadata.annotations?.[GATES_ANNOTATION]))
  if (label && gates.has(label)) {
    if (ownValue(observed.cluster?.labels, label) !== undefined)
      await labelCluster(world, observer, observed, { [label]: null })
    gates.delete(label)
    const annotations = { [GATES_ANNOTATION]: formatGates(gates) || null }
    await world.objects.patch(AddonDelivery, keyOf(delivery), { type: 'merge', body: { metadata: { annotations } } })
  }
  for (const row of own?.before?.delivered?.resources ?? []) {
    if (row.name.startsWith('fluxcd-install-')) continue
    observer.payloads.forget(delivery.metadata.namespace!, row.name)
    await world.objects.delete(payloadKind(row), { namespace: delivery.metadata.namespace!, name: row.name })
  }
}
