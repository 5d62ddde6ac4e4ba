// When an apply that is settled is checked for drift, and when a finding is corrected. Pure.
import { type ApprovalPolicy, type CheckedState, type DriftReport, isAsApplied, type Workspace } from '#engine'
import { act, type Decision } from '#runtime'
import type { Action } from '../actions.ts'
import { approvalGate } from '../approval/approval.ts'
import type { Observed } from '../observe.ts'

/** Decisions that leave the infrastructure as it is until a person or another apply goes on. */
const SETTLED: readonly string[] = ['ApprovalRequired', 'PlanDenied', 'RolloutStopped', 'WaitingForTurn']

/** `decision` is what would be done without drift detection; it comes first. */
export function decideDrift(observed: Observed, decision: Decision<Action>): Decision<Action> {
  const { drift, rendering } = observed
  const { settings, checks, dueInSeconds } = drift
  if (decision.is === 'act') return decision
  if (checks?.activity === 'lost') return act({ do: 'abandon-check' })
  // Nothing depends on a check: one whose end is unknown is forgotten.
  const isUnknown = checks?.activity === 'unreachable'
  if (isUnknown || (!settings && checks?.record && checks.activity === 'idle')) return act({ do: 'forget-checks' })
  if (!settings || checks?.activity === 'running' || !rendering?.ok || !isCheckable(observed, decision)) return decision
  const { workspace } = rendering
  if (dueInSeconds <= 0) return act({ do: 'check-drift', workspace, of: checkedState(observed, workspace) })
  return correct(observed, workspace, decision) ?? sooner(decision, dueInSeconds)
}

function isCheckable({ apply, tool }: Observed, decision: Exclude<Decision<Action>, { is: 'act' }>): boolean {
  if (apply.spec.suspend || tool?.ok === false) return false
  return decision.is === 'done' || SETTLED.includes(decision.reason)
}

function checkedState({ view }: Observed, { hash }: Workspace): CheckedState {
  const { applied, state } = view.record!
  return {
    applied: applied!.runId,
    inputs: hash,
    isAsApplied: isAsApplied(view.record, hash) || applied!.hash === hash,
    ...(state ? { lineage: state.lineage, serial: state.serial } : {}),
  }
}

/** Everything that an apply would change is what somebody else did. */
export function isCorrectable({ counts }: Pick<DriftReport, 'counts'>): boolean {
  return counts.drifted > 0 && counts.pending === 0 && counts.upstream === 0
}

/** One attempt for each check, by an ordinary run: what comes back is found by the next check. */
function correct(observed: Observed, workspace: Workspace, decision: Decision<Action>): Decision<Action> | undefined {
  const { drift, view } = observed
  if (decision.is !== 'done' || drift.settings?.mode !== 'Correct' || drift.answer?.is !== 'found') return undefined
  const { report } = drift.answer
  if (!isCorrectable(report) || view.record?.run?.corrects === report.run) return undefined
  const gate = approvalGate(observed, workspace.hash, false)
  if (gate.is === 'held') return gate.decision
  return act(startOf(workspace, gate.policy, report.run))
}

export const startOf = (workspace: Workspace, approval: ApprovalPolicy, corrects?: string): Action => ({
  do: 'start-run',
  verb: 'apply',
  hash: workspace.hash,
  workspace,
  approval,
  ...(corrects === undefined ? {} : { corrects }),
})

/** The last run planned a correction that is not wanted any more: everything is as it was applied. */
export function isCorrectionDropped({ view, approval, drift }: Observed, { hash }: Workspace): boolean {
  const { run, applied, proposed } = view.record ?? {}
  if (run?.corrects === undefined || run.phase !== 'Planned' || run.hash !== hash || applied?.hash !== hash)
    return false
  const isDenied = approval.answer?.is === 'denied' && approval.answer.plan === proposed?.hash
  return isDenied || drift.settings?.mode !== 'Correct'
}

function sooner(decision: Exclude<Decision<Action>, { is: 'act' }>, seconds: number): Decision<Action> {
  return { ...decision, retryAfterSeconds: Math.min(decision.retryAfterSeconds ?? seconds, seconds) }
}

export const isChecking = ({ drift }: Observed): boolean => drift.checks?.activity === 'running'

/** Neither a deletion nor a move waits for the answer of a check. Undefined when none has to be asked to stop. */
export function endCheck(observed: Observed): Decision<Action> | undefined {
  const { checks } = observed.drift
  const run = checks?.record?.run
  return isChecking(observed) && run && !checks?.cancelling ? act({ do: 'cancel-check', runId: run.id }) : undefined
}
