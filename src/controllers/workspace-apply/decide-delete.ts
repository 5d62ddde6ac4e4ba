// Deletion always ends: what was never made needs no destroy, what cannot be destroyed says what to do and is tried again,
// and what is to be kept is let go.
import { APPLY_FINALIZER, isDeletedForMove } from '#api'
import type { RunRecord } from '#engine'
import { act, type Decision, done, stalled, waiting } from '#runtime'
import { decidePaused } from '../cluster/paused.ts'
import { type Action, unreachable } from './actions.ts'
import type { Observed } from './observe.ts'

const CREDENTIALS_SECONDS = 30

export function decideDelete(seen: Observed): Decision<Action> {
  const { apply, view, dependents } = seen
  const { record, activity } = view
  if (!apply.metadata.finalizers?.includes(APPLY_FINALIZER)) return done
  // It lives elsewhere now: its infrastructure, state and record are none of our business any more.
  if (isDeletedForMove(apply)) return act({ do: 'remove-finalizer' })
  if (seen.paused !== undefined) return decidePaused(apply, activity === 'running')
  if (activity === 'running') return decideRunningDelete(seen)
  if (activity === 'unreachable') return unreachable(seen)
  if (apply.spec.retainWorkspaceOnDelete) {
    return activity === 'lost' ? act({ do: 'abandon-run' }) : gone(true)
  }
  if (isNothingLeft(record) && activity === 'idle') return gone(false)
  if (dependents.length > 0) return waiting('DependentsExist', `Waiting until ${dependents.join(', ')} is gone`)
  if (apply.spec.suspend) {
    return activity === 'lost'
      ? act({ do: 'abandon-run' })
      : waiting('Suspended', 'spec.suspend is set: nothing is destroyed')
  }
  return decideDestroy(seen)
}

const gone = (keepState: boolean): Decision<Action> =>
  act<Action>({ do: 'forget', keepState }, { do: 'remove-finalizer' })

/** An apply that is on is stopped first; a destroy that is on may finish. */
function decideRunningDelete({ apply, view }: Observed): Decision<Action> {
  const run = view.record?.run
  if (run?.verb === 'apply' && !apply.spec.retainWorkspaceOnDelete && !view.cancelling) {
    return act({ do: 'cancel-run', runId: run.id })
  }
  return waiting('RunInProgress', `Terraform ${run?.verb ?? 'destroy'} is ending`)
}

/** Nothing was ever made, or everything was destroyed. Inputs are frozen before anything is made. */
function isNothingLeft(record: RunRecord | undefined): boolean {
  if (!record) return true
  if (record.run?.verb === 'destroy' && record.run.phase === 'Succeeded') return true
  return record.bundle === undefined && record.backend === undefined && (record.state?.resources ?? 0) === 0
}

function decideDestroy(seen: Observed): Decision<Action> {
  const { apply, view, rendering, dueInSeconds } = seen
  const run = view.record?.run
  const hash = view.record?.bundle?.hash ?? run?.hash ?? ''
  const workspace = rendering?.ok ? rendering.workspace : undefined
  const start = act<Action>({ do: 'start-run', verb: 'destroy', hash, ...(workspace ? { workspace } : {}) })
  const isAsked = seen.retryToken !== undefined && seen.retryToken !== run?.retryToken
  const fault = run?.verb === 'destroy' && view.activity === 'idle' ? run.fault : undefined
  if (!fault || isAsked) return start
  if (fault.kind === 'paused' || (fault.kind === 'credentials' && seen.credentialsChanged)) return start
  if (dueInSeconds <= 0 && fault.kind !== 'cancelled') return start

  const said = fault.address === undefined ? fault.message : `${fault.address}: ${fault.message}`
  const name = apply.metadata.name
  switch (fault.kind) {
    case 'cancelled':
      return stalled('Cancelled', 'The destroy was cancelled', `capt retry ${name} starts another one`)
    case 'credentials':
      return stalled('CredentialsRejected', said, fault.hint, Math.min(dueInSeconds, CREDENTIALS_SECONDS))
    case 'user':
    case 'deadline':
      return stalled(
        'DestroyFailed',
        said,
        `${fault.hint}; to leave it there: set spec.retainWorkspaceOnDelete`,
        dueInSeconds,
      )
    default:
      return waiting(
        'RetryScheduled',
        `Attempt ${run?.attempt} to destroy failed and is tried again: ${said}`,
        dueInSeconds,
      )
  }
}
