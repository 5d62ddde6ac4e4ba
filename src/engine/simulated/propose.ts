// Approval and drift checks of simulated plans, by the same rules as those of Terraform.
import { randomUUID } from 'node:crypto'
import type { StartRequest } from '../port.ts'
import type { CheckedState, DriftReport, ProposedPlan, Run, RunRecord } from '../record/record.ts'
import type { PlannedChange } from '../runner/plan/changes.ts'
import { toReport } from '../runner/plan/check-drift.ts'
import { findDrift } from '../runner/plan/drift.ts'
import { guardedAddresses } from '../runner/plan/guard.ts'
import { type PlanText, propose } from '../runner/plan/proposal.ts'
import type { StateInfo } from '../state/state-file.ts'
import type { Evaluated } from './evaluate.ts'

interface SimulatedPlan {
  readonly changes: readonly PlannedChange[]
  readonly target: Evaluated
  readonly state: StateInfo | undefined
  readonly nowMs: number
}

/** Undefined when the run may go on. Values are not compared here: with Manual, new inputs always wait. */
export function proposeSimulated(
  { approval: policy, verb, speculativeFor }: StartRequest,
  run: Run,
  { applied, proposed: earlier }: RunRecord,
  { changes: planned, target, state, nowMs }: SimulatedPlan,
): { readonly proposed: ProposedPlan; readonly text: PlanText } | undefined {
  if (!policy || verb === 'destroy') return undefined
  const isGuarded = guardedAddresses(planned, policy.guard).length > 0
  const isSpeculative = speculativeFor !== undefined
  if (!isSpeculative && !isGuarded && (policy.mode === 'Auto' || applied?.hash === run.hash)) return undefined
  const isAnswered = policy.approved !== undefined && policy.approved.hash === earlier?.hash
  const changes = planned.map((change) => ({ ...change, lines: [] }))
  const proposed = propose({
    detail: { changes, content: [planned, target.outputs] },
    policy,
    salt: isAnswered ? earlier.salt : randomUUID(),
    runId: run.id,
    verb,
    inputs: run.hash,
    state,
    nowMs,
    redact: (text) => text,
  })
  return !isSpeculative && policy.approved?.hash === proposed.hash
    ? undefined
    : { proposed, text: { changes, without: 0, outputs: [] } }
}

/** Nothing but the state exists here, so nobody can change anything outside of it. */
export function checkSimulated(
  planned: readonly PlannedChange[],
  of: CheckedState,
  run: string,
  at: string,
): DriftReport {
  const resource_changes = planned.map(({ address, action }) => ({
    address,
    mode: 'managed',
    change: { actions: [action] },
  }))
  return toReport(findDrift({ resource_changes }, undefined, of.isAsApplied), of, run, at, (text) => text)
}
