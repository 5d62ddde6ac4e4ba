// Decides the next step for one WorkspaceTemplateApply. Pure: same observation, same decision; time arrives as data.
import { APPLY_FINALIZER, blocksMove, CANCEL_ANNOTATION, type WorkspaceTemplateApply } from '#api'
import { isAsApplied, isUnproven, type Reconstruction, type Workspace } from '#engine'
import { act, controllerOf, type Decision, done, hasFinalizer, lifecycleOf, stalled, waiting } from '#runtime'
import { decidePaused } from '../shared/pause.ts'
import { type Action, unreachable } from './actions.ts'
import { approvalGate } from './approval/approval.ts'
import { decideSpeculation, untilExpired } from './approval/speculation.ts'
import { decideDelete } from './decide-delete.ts'
import { decideFault, isWorthResuming } from './decide-fault.ts'
import { decideDrift, endCheck, isChecking, isCorrectionDropped, startOf } from './drift/decide.ts'
import type { Observed } from './observe.ts'
import { QUEUE_SECONDS, queueMessage } from './queued.ts'
import { isReported } from './status.ts'

const SECRET_SECONDS = 15
const SOURCE_SECONDS = 30
const TENANT_SECONDS = 60

export function decide(observed: Observed): Decision<Action> {
  const { apply, view } = observed
  const isRunning = view.activity === 'running'
  switch (lifecycleOf(apply, APPLY_FINALIZER, observed.paused)) {
    case 'released':
      return done
    case 'moved':
      return act({ do: 'remove-finalizer' })
    case 'paused':
      return endCheck(observed) ?? decidePaused(apply, isRunning || isChecking(observed))
    case 'deleting':
      return decideDelete(observed)
  }
  if (!hasFinalizer(apply, APPLY_FINALIZER)) return act({ do: 'add-finalizer' })
  if (isRunning) return decideRunning(observed)
  const speculative = decideSpeculation(observed)
  if (speculative) return speculative
  if (observed.remains?.is === 'stalled') return recordUnreadable(observed.remains)
  if (view.activity === 'lost' && (apply.spec.suspend || !isWorthResuming(view.record?.run)))
    return act({ do: 'abandon-run' })
  if (view.activity === 'unreachable') return unreachable(observed)
  const next = settle(observed, decideDrift(observed, withRecheck(observed, decideInputs(observed))))
  return untilExpired(observed, next)
}

/** A change of the record's Secret triggers no event: it is read again after this time. */
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
  if (run?.waitsFor !== undefined) return waiting('RunQueued', `The pod of the run does not start: ${run.waitsFor}`)
  if (run?.phase === 'Queued') return waiting('RunQueued', queueMessage(view.queue?.reason), QUEUE_SECONDS)
  const attempt = run && run.attempt > 1 ? `, attempt ${run.attempt}` : ''
  const next = isAskedAgain ? '; another run was requested and follows it (capt cancel ends both)' : ''
  return waiting('RunInProgress', `Terraform ${run?.verb ?? 'apply'} is running${attempt}${next}`)
}

/** Everything that must exist before a run starts. */
function decideInputs(observed: Observed): Decision<Action> {
  const { apply, template, rendering, cycle, unready, missingSecrets } = observed
  const name = apply.spec.templateRef.name
  if (observed.forbidden !== undefined) {
    return stalled(
      'ReferenceForbidden',
      observed.forbidden,
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
  return decideRun(observed, rendering.workspace)
}

/** The same message whether the object is missing or does not allow the reference: existence is not disclosed. */
function consent({ metadata }: WorkspaceTemplateApply, refs: readonly string[]): string {
  const isForeign = refs.some((text) => !text.startsWith(`${metadata.namespace ?? ''}/`))
  return isForeign
    ? '. One of another namespace must allow it by the annotation capt.appthrust.com/allow-namespaces'
    : ''
}

function decideRun(observed: Observed, workspace: Workspace): Decision<Action> {
  const { view, slot, apply } = observed
  const run = view.record?.run
  const isAsked = observed.retryToken !== undefined && observed.retryToken !== run?.retryToken
  const isRunNeeded = isAsked || observed.approval.isUnconfirmed === true
  if (isAsApplied(view.record, workspace.hash) && !isRunNeeded) return done
  if (isCorrectionDropped(observed, workspace) && !isRunNeeded) return done
  if (apply.spec.suspend) return waiting('Suspended', 'spec.suspend is set: no run is started')
  if (observed.otherTenant !== undefined) {
    return stalled(
      'SharedRunnerRefused',
      'Terraform runs beside this manager for another namespace; runs of a second one would share its identity and disk',
      'run a manager with --namespace for each tenant, or start this one with --allow-shared-runner where all namespaces trust each other',
      TENANT_SECONDS,
    )
  }
  if (observed.tool?.ok === false)
    return stalled('ToolMismatch', observed.tool.refusal.message, observed.tool.refusal.hint)
  const awaited = awaitedOwner(observed)
  if (awaited !== undefined)
    return waiting('OwnerMissing', `The state was imported; the first plan waits until ${awaited} asks for it`)
  const gate = approvalGate(observed, workspace.hash, isAsked)
  if (gate.is === 'held') return gate.decision
  const isRetry = run?.verb === 'apply' && run.hash === workspace.hash && !isAsked
  const start = act(startOf(workspace, gate.policy, isRetry ? run.corrects : undefined))
  if (isRetry && run.fault) return decideFault(observed, run.fault, start)
  if (!isRetry && !isAsked && slot.is === 'stopped') {
    return waiting(
      'RolloutStopped',
      `A change of WorkspaceTemplate ${apply.spec.templateRef.name} is held back by its annotation`,
    )
  }
  if (!isRetry && !isAsked && slot.is === 'later') {
    return waiting(
      'WaitingForTurn',
      `Other applies take the change of WorkspaceTemplate ${apply.spec.templateRef.name} first`,
    )
  }
  return start
}

/** The first plan after an import is made from what the owner asks for, never from a part of it. */
function awaitedOwner({ apply, view: { record } }: Observed): string | undefined {
  if (!record?.imported?.owner || !isUnproven(record) || controllerOf(apply)) return undefined
  return record.imported.owner
}

/** ConfigMaps and Secrets are not watched: a change may need a run, or fix a stalled apply. */
function withRecheck({ recheckSeconds }: Observed, decision: Decision<Action>): Decision<Action> {
  if (recheckSeconds === undefined || decision.is === 'act' || decision.is === 'waiting') return decision
  return { retryAfterSeconds: recheckSeconds, ...decision }
}

/** Removes block-move once the status shows the end of the run, so that Ready is written first. */
function settle(observed: Observed, decision: Decision<Action>): Decision<Action> {
  const { apply, view } = observed
  if (!blocksMove(apply) || decision.is === 'act' || isChecking(observed)) return decision
  return isReported(apply, view.record?.run?.id, view.record?.run?.phase) ? act({ do: 'unblock-move' }) : decision
}
