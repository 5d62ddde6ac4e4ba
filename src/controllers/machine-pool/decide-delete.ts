// Deletion of a CAPTMachinePool: after the add-ons that may run on its nodes, and before the control plane.
import { CAPTMachinePool } from '#api'
import { act, type Decision, stalled, waiting } from '#runtime'
import { waitForAddons } from '../control-plane/decide-delete.ts'
import { foreignOwner } from '../shared/apply.ts'
import { CONFIRM_DELETE_ANNOTATION } from '../shared/direct-delete.ts'
import type { Action } from './decide.ts'
import type { Observed } from './observe.ts'

export function decideDelete(observed: Observed): Decision<Action> {
  const { object, cluster, apply, facts } = observed
  const release = act<Action>({ do: 'remove-finalizer' })

  const held = decideHold(observed)
  if (held) return held
  const addons = cluster?.deleting ? waitForAddons(observed) : undefined
  if (addons) return addons
  if (!apply || foreignOwner(apply, object)) return release
  if (!facts.deleting) return act({ do: 'delete-apply' })
  const { state } = facts
  if (state.is === 'failed') return stalled('NodeGroupDeletionFailed', state.message, state.hint)
  return waiting(
    'NodeGroupDeleting',
    state.is === 'progressing' ? state.message : `Waiting for ${apply.metadata.name} to go`,
  )
}

/** Nodes that a MachinePool still counts on are not destroyed because somebody deleted the object behind it. */
function decideHold({ object, machinePool, cluster }: Observed): Decision<never> | undefined {
  if (!machinePool || machinePool.deleting || !cluster || cluster.deleting) return undefined
  const { name, annotations = {} } = object.metadata
  const { infrastructureRef: ref } = machinePool
  const isReferred = ref?.kind === CAPTMachinePool.kind && ref.group === CAPTMachinePool.group && ref.name === name
  if (!isReferred || annotations[CONFIRM_DELETE_ANNOTATION] === name) return undefined
  const message = [
    `CAPTMachinePool ${name} was deleted, but MachinePool ${machinePool.name} still needs it: nothing is destroyed.`,
    `Delete MachinePool ${machinePool.name} to destroy the nodes,`,
    `or set the annotation ${CONFIRM_DELETE_ANNOTATION}=${name} to destroy them alone`,
  ].join(' ')
  return waiting('DeletedDirectly', message)
}
