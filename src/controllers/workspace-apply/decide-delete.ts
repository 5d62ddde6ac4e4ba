// Deletion of a WorkspaceTemplateApply is bounded: what was never made needs no destroy, a failed destroy is retried
// within limits and then lists every way out, and retained infrastructure is released.
import type { Reconstruction } from '#engine'
import { act, type Decision, stalled, waiting } from '#runtime'
import { waysOut } from '../shared/ways-out.ts'
import { type Action, unreachable } from './actions.ts'
import { decideFault, isWorthResuming } from './decide-fault.ts'
import { endCheck, isChecking } from './drift/decide.ts'
import { isDestroyed, isNothingLeft, type Observed, reportedResources } from './observe.ts'

/** A restored state triggers no event: it is read again after this time. */
const RECHECK_SECONDS = 60
/** The status that is written triggers the next reconcile; this one is for a write that failed. */
const REPORTED_SECONDS = 1

type Stall = Extract<Reconstruction, { readonly is: 'stalled' }>

export function decideDelete(observed: Observed): Decision<Action> {
  const { apply, view, dependents } = observed
  const { record, activity } = view
  if (isChecking(observed)) return endCheck(observed) ?? waiting('RunInProgress', 'A drift check is ending')
  if (activity === 'running') return decideRunningDelete(observed)
  if (activity === 'unreachable') return unreachable(observed)
  if (apply.spec.retainWorkspaceOnDelete) {
    return activity === 'lost' ? act({ do: 'abandon-run' }) : gone(true)
  }
  if (isNothingLeft(record) && activity === 'idle' && !isAnythingFound(observed)) return forgetDestroyed(observed)
  if (observed.remains?.is === 'stalled') return lost(observed.remains)
  if (dependents.length > 0) return waitForDependents(observed)
  if (apply.spec.suspend) {
    return activity === 'lost'
      ? act({ do: 'abandon-run' })
      : waiting('Suspended', 'spec.suspend is set: nothing is destroyed')
  }
  if (observed.tool?.ok === false) {
    const { message, hint } = observed.tool.refusal
    return stalled('ToolMismatch', message, waysOut(apply, hint))
  }
  return decideDestroy(observed)
}

function waitForDependents({ apply, dependents, deletionLeftSeconds = 0 }: Observed): Decision<Action> {
  const message = `Waiting until ${dependents.join(', ')} is gone`
  if (deletionLeftSeconds > 0) return waiting('DependentsExist', message, deletionLeftSeconds)
  const cause = `delete ${dependents.join(', ')}, or take this one out of their spec.waitForWorkspaces`
  return stalled('DeletionOverdue', message, waysOut(apply, cause))
}

/** A source outside the record has resources, or cannot be read. */
function isAnythingFound({ remains }: Observed): boolean {
  if (!remains || remains.is === 'empty' || remains.is === 'ask') return false
  return remains.is === 'stalled' || remains.resources > 0
}

const lost = ({ message, hint }: Stall): Decision<Action> => stalled('DestroyFailed', message, hint, RECHECK_SECONDS)

const gone = (keepState: boolean): Decision<Action> =>
  act<Action>({ do: 'forget', keepState }, { do: 'remove-finalizer' })

/**
 * The record, the proof of the destroy, is removed before the finalizer. So the status first reports that nothing is
 * left: after an interruption in between, or a refused removal of the finalizer, the missing record does not count as
 * lost.
 */
function forgetDestroyed({ apply, view }: Observed): Decision<Action> {
  if (!isDestroyed(view.record) || reportedResources(apply) === 0) return gone(false)
  return waiting('Destroyed', 'Everything is destroyed; what was kept for it is removed next', REPORTED_SECONDS)
}

/** A running apply is cancelled first; a running destroy may finish. */
function decideRunningDelete({ apply, view }: Observed): Decision<Action> {
  const run = view.record?.run
  if (run?.verb === 'apply' && !apply.spec.retainWorkspaceOnDelete && !view.cancelling) {
    return act({ do: 'cancel-run', runId: run.id, dropsRetry: false })
  }
  return waiting('RunInProgress', `Terraform ${run?.verb ?? 'destroy'} is ending`)
}

function decideDestroy(observed: Observed): Decision<Action> {
  const { view, rendering } = observed
  const run = view.record?.run
  const hash = view.record?.bundle?.hash ?? run?.hash ?? ''
  const workspace = rendering?.ok ? rendering.workspace : undefined
  const start = act<Action>({ do: 'start-run', verb: 'destroy', hash, ...(workspace ? { workspace } : {}) })
  const isAsked = observed.retryToken !== undefined && observed.retryToken !== run?.retryToken
  if (run?.verb !== 'destroy' || isAsked) return start
  if (view.activity === 'lost') return isWorthResuming(run) ? start : act({ do: 'abandon-run' })
  return run.fault ? decideFault(observed, run.fault, start) : start
}
