// Decides the next step for one CAPTCluster. Pure: same observation, same decision.
import { blocksMove, CLUSTER_FINALIZER, pauseOf } from '#api'
import type { Json } from '#lib'
import { act, type Decision, done, stalled, waiting } from '#runtime'
import { type ApplyRequest, isAsWanted, strangerOwning } from './apply.ts'
import { decideDelete } from './decide-delete.ts'
import type { Observed } from './observe.ts'
import { decidePaused } from './paused.ts'
import { vpcRequest } from './variables.ts'
import { waitForApply, waitForCluster } from './wait-a-moment.ts'

export type Action =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' | 'unblock-move' }
  | { readonly do: 'write-apply'; readonly request: ApplyRequest }
  | { readonly do: 'delete-apply' | 'retain-apply' }

export function decide(seen: Observed): Decision<Action> {
  const { object, cluster, facts, apply } = seen
  if (pauseOf(cluster, object) !== undefined) return decidePaused(object, facts.running)
  if (object.metadata.deletionTimestamp) return decideDelete(seen)
  if (!cluster) return waitForCluster(object, seen.nowMs)
  if (!object.metadata.finalizers?.includes(CLUSTER_FINALIZER)) return act({ do: 'add-finalizer' })

  const request = vpcRequest(object, seen.clusterName)
  if (!request) return done
  if (apply?.metadata.deletionTimestamp)
    return waiting('VPCDeleting', `${request.name} is being deleted; it is made again when it is gone`)
  const stranger = apply && strangerOwning(apply, object)
  if (stranger)
    return stalled(
      'VPCNameTaken',
      `WorkspaceTemplateApply ${request.name} belongs to ${stranger.kind} ${stranger.name}`,
      'set spec.workspaceTemplateApplyName to a name of its own on a new CAPTCluster',
    )
  if (!isAsWanted(apply, request)) return act({ do: 'write-apply', request })

  const { state } = facts
  if (state.is === 'failed') return settle(seen, stalled('VPCCreationFailed', state.message, state.hint))
  if (state.is !== 'applied') return waitForApply(state, seen.nowMs, 'VPCCreating', `Waiting for ${request.name}`)
  if (vpcIdOf(seen) === undefined)
    return settle(
      seen,
      stalled(
        'OutputMissing',
        `WorkspaceTemplate ${request.spec.templateRef.name} has no output vpc_id`,
        'add output "vpc_id" to the template, as text',
      ),
    )
  return settle(seen, done)
}

/** The end of a run lets a move go on, before anything else is said. */
function settle(seen: Observed, decision: Decision<Action>): Decision<Action> {
  return blocksMove(seen.object) && !seen.facts.running ? act({ do: 'unblock-move' }) : decision
}

export function vpcIdOf({ object, facts }: Observed): string | undefined {
  return object.spec.existingVpcId ?? textOf(facts.outputs['vpc_id'])
}

const textOf = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
