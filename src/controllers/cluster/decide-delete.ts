// How a CAPTCluster goes: after its control plane, and its VPC with it unless that is retained or was never ours.
import { CLUSTER_FINALIZER, isDeletedForMove } from '#api'
import { act, type Decision, done, names, stalled, waiting } from '#runtime'
import { isRetained, strangerOwning } from './apply.ts'
import type { Action } from './decide.ts'
import { decideHold } from './direct-delete.ts'
import type { Observed } from './observe.ts'

export function decideDelete(seen: Observed): Decision<Action> {
  const { object, cluster, apply, facts, controlPlanes } = seen
  if (!object.metadata.finalizers?.includes(CLUSTER_FINALIZER)) return done
  const release = act<Action>({ do: 'remove-finalizer' })
  if (isDeletedForMove(object)) return release

  const held = decideHold(object, cluster, cluster?.infrastructureRef, seen.nowMs)
  if (held) return held
  if (controlPlanes.length > 0)
    return waiting('WaitingForControlPlane', `Waiting for the control plane ${names(controlPlanes)} to be deleted`)
  if (!apply || strangerOwning(apply, object)) return release
  if (object.spec.retainVpcOnDelete) return isRetained(apply, object) ? release : act({ do: 'retain-apply' })
  if (!facts.deleting) return act({ do: 'delete-apply' })

  const { state } = facts
  if (state.is === 'failed') return stalled('VPCDeletionFailed', state.message, state.hint)
  return waiting('VPCDeleting', state.is === 'progressing' ? state.message : `Waiting for ${apply.metadata.name} to go`)
}
