// Decides the next step for one WorkspaceTemplateApply. Pure: same observation, same decision; time arrives as data.
import { APPLY_FINALIZER, blocksMove, CANCEL_ANNOTATION, type WorkspaceTemplateApply } from '#api'
import { isAsApplied, type Reconstruction, type Workspace } from '#engine'
import { act, type Decision, done, stalled, waiting } from '#runtime'
import { decidePaused } from '../cluster/paused.ts'
import { type Action, unreachable } from './actions.ts'
import { decideDelete } from './decide-delete.ts'
import { decideFault, isWorthResuming } from './decide-fault.ts'
import type { Observed } from './observe.ts'
import { isReported } from './status.ts'

const SECRET_SECONDS = 15
const SOURCE_SECONDS = 30
const TENANT_SECONDS = 60

export function decide(seen: Observed): Decision<Action> {
  const { apply, view } = seen
  const isRunning = view.activity === 'running'
  if (apply.metadata.deletionTimestamp) return decideDelete(seen)
  if (seen.paused !== undefined) return decidePaused(apply, isRunning)
  if (!apply.metadata.finalizers?.includes(APPLY_FINALIZER)) return act({ do: 'add-finalizer' })
  if (isRunning) return decideRunning(seen)
  if (seen.remains?.is === 'stalled') return recordUnreadable(seen.remains)
  if (view.activity === 'lost' && (apply.spec.suspend || !isWorthResuming(view.record?.run)))
    return act({ do: 'abandon-run' })
  if (view.activity === 'unreachable') return unreachable(seen)
  return settle(seen, lookAgain(seen, decideInputs(seen)))
}

/** Somebody who restores or deletes its Secret tells nobody: it is read this often. */
const RECORD_SECONDS = 60

const recordUnreadable = ({ message, hint }: Extract<Reconstruction, { readonly is: 'stalled' }>): Decision<Action> =>
  stalled('RecordUnreadable', message, hint, RECORD_SECONDS)

function decideRunning({ apply, view, retryToken }: Observed): Decision<Action> {
  const run = view.record?.run
  const cancelled = apply.metadata.annotations?.[CANCEL_ANNOTATION]
  const isAskedAgain = retryToken !== undefined && retryToken !== run?.retryToken
  if (run && cancelled === run.id && run.phase !== 'Save' && !view.cancelling) {
    return act({ do: 'cancel-run', runId: run.id, dropsRetry: isAskedAgain })
  }
  if (run?.phase === 'Queued') return waiting('RunQueued', 'Waiting for other runs to end')
  const attempt = run && run.attempt > 1 ? `, attempt ${run.attempt}` : ''
  const next = isAskedAgain ? '; another run was requested and follows it (capt cancel ends both)' : ''
  return waiting('RunInProgress', `Terraform ${run?.verb ?? 'apply'} is running${attempt}${next}`)
}

/** Everything that must be there before Terraform is given anything. */
function decideInputs(seen: Observed): Decision<Action> {
  const { apply, template, rendering, cycle, unready, missingSecrets } = seen
  const name = apply.spec.templateRef.name
  if (seen.forbidden !== undefined) {
    return stalled(
      'ReferenceForbidden',
      seen.forbidden,
      'ask its owner for the annotation capt.appthrust.com/allow-namespaces',
      SOURCE_SECONDS,
    )
  }
  if (!template) return waiting('TemplateMissing', `There is no WorkspaceTemplate ${name}`)
  if (cycle) {
    return stalled(
      'DependencyCycle',
      `These wait for each other: ${cycle.join(' → ')}`,
      'take one of them out of spec.waitForWorkspaces',
    )
  }
  if (missingSecrets.length > 0)
    return waiting(
      'SecretsMissing',
      `Waiting for Secret ${missingSecrets.join(', ')}${consent(apply, missingSecrets)}`,
      SECRET_SECONDS,
    )
  if (unready.length > 0)
    return waiting('DependencyNotReady', `Waiting for ${unready.join(', ')}${consent(apply, unready)}`)
  if (!rendering) return waiting('TemplateMissing', `WorkspaceTemplate ${name} was not read yet`)
  if (!rendering.ok) {
    const { reason, message, hint } = rendering.problems[0]!
    return reason === 'SourceMissing' ? waiting(reason, message, SOURCE_SECONDS) : stalled(reason, message, hint)
  }
  return decideRun(seen, rendering.workspace)
}

/** The same words whether the object is missing or does not allow it: nobody learns what another namespace has. */
function consent({ metadata }: WorkspaceTemplateApply, refs: readonly string[]): string {
  const isForeign = refs.some((text) => !text.startsWith(`${metadata.namespace ?? ''}/`))
  return isForeign
    ? '. One of another namespace must allow it by the annotation capt.appthrust.com/allow-namespaces'
    : ''
}

function decideRun(seen: Observed, workspace: Workspace): Decision<Action> {
  const { view, turn, apply } = seen
  const run = view.record?.run
  const isAsked = seen.retryToken !== undefined && seen.retryToken !== run?.retryToken
  if (isAsApplied(view.record, workspace.hash) && !isAsked) return done
  if (apply.spec.suspend) return waiting('Suspended', 'spec.suspend is set: no run is started')
  if (seen.otherTenant !== undefined) {
    return stalled(
      'SharedRunnerRefused',
      'Terraform runs beside this manager for another namespace; runs of a second one would share its identity and disk',
      'run a manager with --namespace for each tenant, or start this one with --allow-shared-runner where all namespaces trust each other',
      TENANT_SECONDS,
    )
  }
  const start = act<Action>({ do: 'start-run', verb: 'apply', hash: workspace.hash, workspace })
  const isRetry = run?.verb === 'apply' && run.hash === workspace.hash && !isAsked
  if (isRetry && run.fault) return decideFault(seen, run.fault, start)
  if (!isRetry && !isAsked && turn.is === 'stopped') {
    return waiting(
      'RolloutStopped',
      `A change of WorkspaceTemplate ${apply.spec.templateRef.name} is held back by its annotation`,
    )
  }
  if (!isRetry && !isAsked && turn.is === 'later') {
    return waiting(
      'WaitingForTurn',
      `Other applies take the change of WorkspaceTemplate ${apply.spec.templateRef.name} first`,
    )
  }
  return start
}

/** What no event tells: a changed ConfigMap or Secret may need a run, or mend what a person was asked to mend. */
function lookAgain({ lookAgainSeconds }: Observed, decision: Decision<Action>): Decision<Action> {
  if (lookAgainSeconds === undefined || decision.is === 'act' || decision.is === 'waiting') return decision
  return { retryAfterSeconds: lookAgainSeconds, ...decision }
}

/** A move may go on once the status shows the end of the run, not before, so that Ready is not kept waiting. */
function settle({ apply, view }: Observed, decision: Decision<Action>): Decision<Action> {
  if (!blocksMove(apply) || decision.is === 'act') return decision
  return isReported(apply, view.record?.run?.id, view.record?.run?.phase) ? act({ do: 'unblock-move' }) : decision
}
