// What an apply says about itself, from its record: the record outlives every process and every move, the status does not.
import type { WorkspaceTemplateApply } from '#api'
import { faultPolicy, isAsApplied, workspaceNameOf } from '#engine'
import type { ConditionDraft, Decision, FailedAttempt, StatusReport } from '#runtime'
import { deletingCondition, pausedCondition } from '../cluster/life-conditions.ts'
import type { Action } from './actions.ts'
import { textOf } from './decide-fault.ts'
import type { Observed } from './observe.ts'
import { undeclaredCondition } from './undeclared.ts'

type Phase = NonNullable<NonNullable<WorkspaceTemplateApply['status']>['phase']>

export function statusOf(seen: Observed, decision: Decision<Action>): StatusReport {
  const { apply, view, rendering, template } = seen
  const { record } = view
  const run = record?.run
  const hash = rendering?.ok ? rendering.workspace.hash : undefined
  const undeclared = undeclaredCondition(seen)
  const isUpToDate = hash !== undefined && isAsApplied(record, hash)
  return {
    fields: {
      workspaceName: workspaceNameOf(apply.metadata.name),
      applied: record?.applied !== undefined,
      lastAppliedTime: record?.applied?.at,
      phase: phaseOf(seen, decision),
      ...(hash === undefined ? {} : { observedHash: hash }),
      appliedHash: record?.applied?.hash,
      ...(isUpToDate ? { templateGeneration: template?.metadata.generation } : {}),
      run: run && {
        id: run.id,
        verb: run.verb,
        phase: run.phase,
        attempt: run.attempt,
        startedAt: run.startedAt,
        finishedAt: run.finishedAt,
        progress: run.progress,
        address: run.address,
      },
      plan: run?.plan,
      outputs: record?.applied?.outputs,
      ...(run?.fault || run?.phase === 'Succeeded' ? { lastError: isUpToDate ? undefined : run.fault } : {}),
      attempts: run?.attempt,
      suspects: record && record.suspects.length > 0 ? record.suspects : undefined,
      // Without a record the last word about resources stays: it is a witness when everything else is lost.
      ...(record ? { state: record.state } : {}),
    },
    conditions: [
      syncedCondition(seen, decision),
      ...suspectsCondition(seen),
      ...(undeclared.draft ? [undeclared.draft] : []),
      pausedCondition(seen.paused),
      deletingCondition(apply.metadata.deletionTimestamp !== undefined, decision),
    ],
    failed: failedAttempt(seen, decision),
    warnings: undeclared.draft && undeclared.isNew ? [undeclared.draft] : [],
  }
}

/** A run that failed, once: the status that is written with it names the run. What a person or a pause stopped is none. */
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
  if (view.activity === 'running') return 'Running'
  if (paused !== undefined) return 'Paused'
  if (apply.metadata.deletionTimestamp) return decision.is === 'stalled' ? 'Stalled' : 'Deleting'
  if (decision.is === 'done') return 'Applied'
  if (decision.is === 'stalled') return 'Stalled'
  if (decision.is !== 'waiting') return apply.status?.phase ?? 'Waiting'
  if (decision.reason === 'RetryScheduled') return 'Retrying'
  return decision.reason === 'Suspended' ? 'Suspended' : 'Waiting'
}

const UNTOUCHED = 'The last run was cancelled before it changed anything: everything is as it was applied'

/** Crossplane's word for whether the last attempt went well; those who read Workspaces look for errors here. */
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

/** Said only where it was ever true: a killed run may have left something that no state knows. */
function suspectsCondition({ apply, view }: Observed): readonly ConditionDraft[] {
  const suspects = view.record?.suspects ?? []
  const wasSaid = apply.status?.conditions?.some(({ type }) => type === 'Suspects') ?? false
  if (suspects.length === 0) {
    return wasSaid ? [{ type: 'Suspects', status: 'False', reason: 'NoneLeft', message: '' }] : []
  }
  const named = suspects.slice(0, 10).map(({ address }) => address)
  const more = suspects.length > named.length ? ` and ${suspects.length - named.length} more` : ''
  const message = `Terraform was killed while it worked on ${named.join(', ')}${more}; look at them, then: capt retry ${apply.metadata.name} --clear-suspects`
  return [{ type: 'Suspects', status: 'True', reason: 'RunKilled', message }]
}
