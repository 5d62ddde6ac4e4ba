// Deletion of a CAPTCluster: after its control plane, and with its VPC unless that is retained or has another owner.
import { act, type Decision, names, stalled, waiting } from '#runtime'
import { foreignOwner, isRetained } from '../shared/apply.ts'
import { decideHold } from '../shared/direct-delete.ts'
import type { Action } from './decide.ts'
import type { Observed } from './observe.ts'

export function decideDelete(observed: Observed): Decision<Action> {
  const { object, cluster, apply, facts, controlPlanes } = observed
  const release = act<Action>({ do: 'remove-finalizer' })

  const held = decideHold(object, cluster, cluster?.infrastructureRef, observed.nowMs)
  if (held) return held
  if (controlPlanes.length > 0)
    return waiting('WaitingForControlPlane', `Waiting for the control plane ${names(controlPlanes)} to be deleted`)
  if (!apply || foreignOwner(apply, object)) return release
  if (object.spec.retainVpcOnDelete) return isRetained(apply, object) ? release : act({ do: 'retain-apply' })
  if (!facts.deleting) return act({ do: 'delete-apply' })

  const { state } = facts
  if (state.is === 'failed') return stalled('VPCDeletionFailed', state.message, state.hint)
  return waiting('VPCDeleting', state.is === 'progressing' ? state.message : `Waiting for ${apply.metadata.name} to go`)
}
