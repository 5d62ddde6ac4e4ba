// Deletion is bounded: what was never made needs no destroy, what cannot be destroyed is tried again within limits and then
// names every way out, and what is to be kept is released.
import { APPLY_FINALIZER, isDeletedForMove } from '#api'
import type { Reconstruction } from '#engine'
import { act, type Decision, done, stalled, waiting } from '#runtime'
import { decidePaused } from '../cluster/paused.ts'
import { type Action, unreachable } from './actions.ts'
import { decideFault, isWorthResuming, waysOut } from './decide-fault.ts'
import { isNothingLeft, type Observed } from './observe.ts'

/** A person who puts a state back tells nobody: it is looked for this often. */
const LOOK_AGAIN_SECONDS = 60

type Stall = Extract<Reconstruction, { readonly is: 'stalled' }>

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
  if (isNothingLeft(record) && activity === 'idle' && !isAnythingFound(seen)) return gone(false)
  if (seen.remains?.is === 'stalled') return lost(seen.remains)
  if (dependents.length > 0) return waitForDependents(seen)
  if (apply.spec.suspend) {
    return activity === 'lost'
      ? act({ do: 'abandon-run' })
      : waiting('Suspended', 'spec.suspend is set: nothing is destroyed')
  }
  return decideDestroy(seen)
}

function waitForDependents({ apply, dependents, deletionLeftSeconds = 0 }: Observed): Decision<Action> {
  const message = `Waiting until ${dependents.join(', ')} is gone`
  if (deletionLeftSeconds > 0) return waiting('DependentsExist', message, deletionLeftSeconds)
  const cause = `delete ${dependents.join(', ')}, or take this one out of their spec.waitForWorkspaces`
  return stalled('DeletionOverdue', message, waysOut(apply, cause))
}

/** A source that the record does not know of has resources, or cannot be read. */
function isAnythingFound({ remains }: Observed): boolean {
  if (!remains || remains.is === 'empty' || remains.is === 'ask') return false
  return remains.is === 'stalled' || remains.resources > 0
}

const lost = ({ message, hint }: Stall): Decision<Action> => stalled('DestroyFailed', message, hint, LOOK_AGAIN_SECONDS)

const gone = (keepState: boolean): Decision<Action> =>
  act<Action>({ do: 'forget', keepState }, { do: 'remove-finalizer' })

/** An apply that is on is stopped first; a destroy that is on may finish. */
function decideRunningDelete({ apply, view }: Observed): Decision<Action> {
  const run = view.record?.run
  if (run?.verb === 'apply' && !apply.spec.retainWorkspaceOnDelete && !view.cancelling) {
    return act({ do: 'cancel-run', runId: run.id, dropsRetry: false })
  }
  return waiting('RunInProgress', `Terraform ${run?.verb ?? 'destroy'} is ending`)
}

function decideDestroy(seen: Observed): Decision<Action> {
  const { view, rendering } = seen
  const run = view.record?.run
  const hash = view.record?.bundle?.hash ?? run?.hash ?? ''
  const workspace = rendering?.ok ? rendering.workspace : undefined
  const start = act<Action>({ do: 'start-run', verb: 'destroy', hash, ...(workspace ? { workspace } : {}) })
  const isAsked = seen.retryToken !== undefined && seen.retryToken !== run?.retryToken
  if (run?.verb !== 'destroy' || isAsked) return start
  if (view.activity === 'lost') return isWorthResuming(run) ? start : act({ do: 'abandon-run' })
  return run.fault ? decideFault(seen, run.fault, start) : start
}
