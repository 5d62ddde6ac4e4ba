// Status of a WorkspaceTemplateApply, derived from its record: the record survives restarts and moves, the status does not.
import type { WorkspaceTemplateApply } from '#api'
import { faultPolicy, isAsApplied, type Run, type Suspect, workspaceNameOf } from '#engine'
import type { ConditionDraft, Decision, FailedAttempt, StatusReport } from '#runtime'
import { deletingCondition, pausedCondition } from '../shared/conditions.ts'
import type { Action } from './actions.ts'
import { approvalConditions, planStatus } from './approval/approval.ts'
import { textOf } from './decide-fault.ts'
import { driftCondition, driftStatus } from './drift/status.ts'
import type { Observed } from './observe.ts'
import { queueOf } from './queued.ts'
import { undeclaredCondition } from './undeclared.ts'

type Phase = NonNullable<NonNullable<WorkspaceTemplateApply['status']>['phase']>

export function statusOf(observed: Observed, decision: Decision<Action>): StatusReport {
  const { apply, view, rendering, template } = observed
  const { record } = view
  const run = record?.run
  const hash = rendering?.ok ? rendering.workspace.hash : undefined
  const undeclared = undeclaredCondition(observed)
  const approval = approvalConditions(observed, decision)
  const drift = driftCondition(observed)
  const isUpToDate = hash !== undefined && isAsApplied(record, hash)
  return {
    fields: {
      workspaceName: workspaceNameOf(apply.metadata.name),
      applied: record?.applied !== undefined,
      lastAppliedTime: record?.applied?.at,
      phase: phaseOf(observed, decision),
      ...(hash === undefined ? {} : { observedHash: hash }),
      appliedHash: record?.applied?.hash,
      ...(isUpToDate ? { templateGeneration: template?.metadata.generation } : {}),
      // Without a record the last run and the number of resources stay: they are needed when the record was lost.
      ...(record
        ? {
            run: run && { ...runFields(run), queue: queueOf(observed) },
            plan: planStatus(observed),
            state: record.state,
          }
        : {}),
      outputs: record?.applied?.outputs,
      ...(run?.fault || run?.phase === 'Succeeded' ? { lastError: isUpToDate ? undefined : run.fault } : {}),
      attempts: run?.attempt,
      suspects: record && record.suspects.length > 0 ? record.suspects : undefined,
      drift: driftStatus(observed),
    },
    conditions: [
      syncedCondition(observed, decision),
      ...suspectsCondition(observed),
      ...(undeclared.draft ? [undeclared.draft] : []),
      ...approval.conditions,
      ...(drift.draft ? [drift.draft] : []),
      pausedCondition(observed.paused),
      deletingCondition(apply.metadata.deletionTimestamp !== undefined, decision),
    ],
    failed: failedAttempt(observed, decision),
    warnings: [
      ...[undeclared, drift].flatMap(({ draft, isNew }) => (draft && isNew ? [draft] : [])),
      ...approval.warnings,
    ],
    ended: drift.isOver ? [{ reason: 'DriftEnded', message: 'What Terraform manages is as it was applied again' }] : [],
  }
}

function runFields({ id, verb, phase, attempt, startedAt, finishedAt, progress, address }: Run) {
  return { id, verb, phase, attempt, startedAt, finishedAt, progress, address }
}

/** A failed run, reported once: the status names the run. A cancelled or paused run is not a failure. */
function failedAttempt({ apply, view }: Observed, decision: Decision<Action>): readonly FailedAttempt[] {
  const run = view.record?.run
  const fault = run?.fault
  if (!run || !fault || fault.kind === 'cancelled' || fault.kind === 'paused' || isReported(apply, run.id, run.phase))
    return []
  if (decision.is === 'stalled') {
    const { reason, message, hint } = decision
    return [{ class: fault.kind, reason, message, hint }]
  }
  const reason = decision.is === 'waiting' ? decision.reason : faultPolicy(fault.kind)[run.verb].reason
  return [{ class: fault.kind, reason, message: `terraform ${run.verb} failed: ${textOf(fault)}`, hint: fault.hint }]
}

/** The status already shows this end of this run. */
export function isReported(apply: WorkspaceTemplateApply, id: string | undefined, phase: string | undefined): boolean {
  const reported = apply.status?.run
  return id === undefined || (reported?.id === id && reported.phase === phase)
}

function phaseOf({ apply, view, paused }: Observed, decision: Decision<Action>): Phase {
  if (view.activity === 'running') return view.record?.run?.verb === 'destroy' ? 'Destroying' : 'Running'
  if (paused !== undefined) return 'Paused'
  if (apply.metadata.deletionTimestamp) return decision.is === 'stalled' ? 'Stalled' : 'Deleting'
  if (decision.is === 'done') return 'Applied'
  if (decision.is === 'stalled') return 'Stalled'
  if (decision.is !== 'waiting') return apply.status?.phase ?? 'Waiting'
  if (decision.reason === 'RetryScheduled') return 'Retrying'
  return decision.reason === 'Suspended' ? 'Suspended' : 'Waiting'
}

const UNTOUCHED = 'The last run was cancelled before it changed anything: everything is as it was applied'

/** Crossplane's condition for the result of the last attempt, for tools that read its Workspaces. */
function syncedCondition({ view }: Observed, decision: Decision<Action>): ConditionDraft {
  const fault = view.record?.run?.fault
  if (decision.is === 'stalled') {
    return { type: 'Synced', status: 'False', reason: 'ReconcileError', message: fault?.message ?? decision.message }
  }
  if (fault && decision.is === 'done')
    return { type: 'Synced', status: 'True', reason: 'ReconcileSuccess', message: UNTOUCHED }
  if (fault) return { type: 'Synced', status: 'False', reason: 'ReconcileError', message: fault.message }
  return { type: 'Synced', status: 'True', reason: 'ReconcileSuccess', message: '' }
}

/** Written only where it was ever true: a killed run may have left resources that are not in the state. */
function suspectsCondition({ apply, view }: Observed): readonly ConditionDraft[] {
  const suspects = view.record?.suspects ?? []
  const wasReported = apply.status?.conditions?.some(({ type }) => type === 'Suspects') ?? false
  if (suspects.length === 0) {
    return wasReported ? [{ type: 'Suspects', status: 'False', reason: 'NoneLeft', message: '' }] : []
  }
  const begun = suspects.filter(({ unconfirmed }) => !unconfirmed)
  const planned = suspects.filter(({ unconfirmed }) => unconfirmed)
  const causes = [
    ...(begun.length > 0 ? [`Terraform was killed while it worked on ${nameSuspects(begun)}`] : []),
    ...(planned.length > 0 ? [`a run was lost before it reported whether it had begun ${nameSuspects(planned)}`] : []),
  ]
  const message = `${causes.join('; ')}; look for them, then: capt retry ${apply.metadata.name} --clear-suspects`
  return [{ type: 'Suspects', status: 'True', reason: 'RunKilled', message }]
}

export function nameSuspects(suspects: readonly Suspect[]): string {
  const first = suspects.slice(0, 10).map(({ address }) => address)
  return `${first.join(', ')}${suspects.length > first.length ? ` and ${suspects.length - first.length} more` : ''}`
}
