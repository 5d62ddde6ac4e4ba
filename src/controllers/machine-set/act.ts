// Executes the actions that were decided for a CAPTMachineSet.
import {
  type AnyObject,
  CAPTMachine,
  CAPTMachineSet,
  CLUSTER_NAME_LABEL,
  keyOf,
  MACHINE_FINALIZER,
  MACHINE_SET_FINALIZER,
} from '#api'
import { ignore } from '#kube'
import { boundedName } from '#lib'
import { ownerReference, restoreOwner, type World } from '#runtime'
import { actOnLifecycle } from '../shared/lifecycle.ts'
import type { Action } from './decide.ts'
import type { Observed } from './observe.ts'

/** Room for the suffix of a generated name, and for those of what is made for a machine. */
const LONGEST_PREFIX = 150

export async function actOnMachineSet(world: World, observed: Observed, action: Action): Promise<void> {
  const { objects, events } = world
  const { object, cluster } = observed
  const emit = (reason: string, message: string) => events.emit(object, { type: 'Normal', reason, message })
  const asOwner = () => ownerReference(object, { controller: true, blockOwnerDeletion: true })
  switch (action.do) {
    case 'add-finalizer':
    case 'remove-finalizer':
    case 'unblock-move':
      return actOnLifecycle(objects, CAPTMachineSet, object, MACHINE_SET_FINALIZER, action.do)
    case 'own':
      return cluster && restoreOwner(objects, CAPTMachineSet, object, ownerReference(cluster.object))
    case 'create':
      for (let made = 0; made < action.count; made++) await objects.create<AnyObject>(CAPTMachine, toMachine(observed))
      return emit('CreatingMachines', `Creating ${action.count} machines`)
    case 'delete': {
      const namespace = object.metadata.namespace ?? ''
      for (const { name, uid } of action.machines) await objects.delete(CAPTMachine, { namespace, name }, { uid })
      return emit('DeletingMachines', `Deleting ${action.machines.map(({ name }) => name).join(', ')}`)
    }
    case 'adopt':
      await restoreOwner(objects, CAPTMachine, action.machine, asOwner())
      return emit('Adopted', `Adopted ${action.machine.metadata.name}`)
    case 'release':
      await release(world, observed, action.machine)
      return emit('Released', `Released ${action.machine.metadata.name}: the selector does not match it`)
    case 'update': {
      const body = { spec: action.fields }
      await objects.patch(CAPTMachine, keyOf(action.machine), { type: 'merge', body }).catch(ignore('NotFound'))
    }
  }
}

function toMachine({ object, clusterName = '' }: Observed): AnyObject {
  const { labels = {}, annotations = {} } = object.spec.template.metadata ?? {}
  const machine: Omit<CAPTMachine, 'metadata'> & { readonly metadata: object } = {
    apiVersion: CAPTMachine.apiVersion,
    kind: CAPTMachine.kind,
    metadata: {
      generateName: `${boundedName(object.metadata.name, LONGEST_PREFIX)}-`,
      namespace: object.metadata.namespace ?? '',
      labels: { ...labels, [CLUSTER_NAME_LABEL]: clusterName },
      annotations,
      finalizers: [MACHINE_FINALIZER],
      ownerReferences: [ownerReference(object, { controller: true, blockOwnerDeletion: true })],
    },
    spec: object.spec.template.spec,
  }
  return machine as unknown as AnyObject
}

/** A machine of its own hangs under the Cluster. */
async function release({ objects }: World, { object, cluster }: Observed, machine: CAPTMachine): Promise<void> {
  const { resourceVersion, ownerReferences = [] } = machine.metadata
  const kept = ownerReferences.filter(({ uid }) => uid !== object.metadata.uid)
  const owners = cluster ? [...kept, ownerReference(cluster.object)] : kept
  const body = { metadata: { resourceVersion, ownerReferences: owners } }
  await objects.patch(CAPTMachine, keyOf(machine), { type: 'merge', body })
}
