// The drift check of a run: compares the plan with the state that it was made from, and discards the answer when that state has
// moved meanwhile. A run that corrects drift looks once more before it applies: it never applies anything else.
import { toTimestamp } from '#lib'
import type { FaultKind, RunFault } from '../../faults/faults.ts'
import { type CheckedState, type DriftReport, isOpen, type RunRecord } from '../../record/record.ts'
import { readRecord } from '../../record/record-store.ts'
import { readState } from '../../state/state-file.ts'
import { loadState } from '../../state/state-store.ts'
import type { RunContext } from '../context.ts'
import { RunFailure } from '../failure.ts'
import type { Planned } from '../values.ts'
import { findDrift, isDriftAlone } from './drift.ts'
import { readPlanJson } from './plan-json.ts'

const MAX_LISTED = 20
/** With one of these Terraform compares a part of the resources, or none. */
const PARTIAL = /^--?(?:refresh=(?:false|f|0)$|(?:target|exclude)(?:=|$))/i

export async function checkDrift(context: RunContext, planned: Planned, of: CheckedState): Promise<DriftReport> {
  const { request, world } = context
  const { terraform, layout, backend } = planned
  const partial = layout.planArgs.find((arg) => PARTIAL.test(arg))
  if (partial !== undefined) {
    throw new RunFailure({
      kind: 'user',
      code: 'CAPT_DRIFT_UNKNOWABLE',
      message: `planArgs of the template has ${partial}: Terraform does not compare every resource`,
      hint: 'remove it from spec.template.spec.forProvider.planArgs, or turn driftDetection off',
    })
  }
  const key = { namespace: request.owner.namespace, name: request.speculativeFor ?? request.owner.name }
  const state = backend === undefined ? await loadState(world.objects, key) : undefined
  const plan = await terraform.show(layout)
  context.addSecrets(readPlanJson(plan).secrets)
  const finding = findDrift(plan, state, of.isAsApplied)
  const target = (await readRecord(world.objects, key))?.record
  const moved = movedSince(of, target, state)
  if (moved !== undefined) throw discarded(moved)
  return toReport(finding, of, request.runId, toTimestamp(world.clock.now()), (text) => context.redact(text))
}

/** Why the answer is of no use; undefined when all is as it was. */
export function movedSince(
  of: CheckedState,
  target: RunRecord | undefined,
  state: string | undefined,
): string | undefined {
  if (!target || target.applied?.runId !== of.applied) return 'the apply has run meanwhile'
  if (isOpen(target.run)) return 'a run of the apply is in progress'
  const { serial, lineage } = (state === undefined ? undefined : readState(state)) ?? {}
  const isMoved = of.serial !== undefined && (serial !== of.serial || lineage !== of.lineage)
  return isMoved ? `the state has moved from ${of.serial} to ${serial ?? 'nothing'}` : undefined
}

const INTERRUPTED: readonly FaultKind[] = ['cancelled', 'paused', 'lost']
/** The check has no answer for a reason that passes: it was discarded, stopped, or lost with its runner. */
export const isCheckInterrupted = (fault: Pick<RunFault, 'kind'> | undefined): boolean =>
  fault !== undefined && INTERRUPTED.includes(fault.kind)

function discarded(why: string): RunFailure {
  return new RunFailure({
    kind: 'cancelled',
    code: 'CAPT_DRIFT_DISCARDED',
    message: `the drift check is discarded: ${why}`,
    hint: 'the next check follows by itself',
  })
}

export function toReport(
  { result, changes, ignored, sources }: ReturnType<typeof findDrift>,
  of: CheckedState,
  run: string,
  at: string,
  redact: (text: string) => string,
): DriftReport {
  const count = (cause: string) => changes.filter((change) => change.cause === cause).length
  return {
    run,
    of,
    at,
    result,
    counts: { drifted: count('Drift'), pending: count('Pending'), upstream: count('Upstream') },
    changes: changes.slice(0, MAX_LISTED).map((change) => ({ ...change, address: redact(change.address) })),
    ignored,
    sources: sources.slice(0, MAX_LISTED).map(redact),
  }
}

/** Between the check and this run a floating input may have resolved differently: that waits until a user asks for it. */
export async function refuseMoreThanDrift(context: RunContext, { terraform, layout }: Planned): Promise<void> {
  const { request, world } = context
  const plan = await terraform.show(layout)
  context.addSecrets(readPlanJson(plan).secrets)
  const finding = findDrift(plan, await loadState(world.objects, request.owner), true)
  if (isDriftAlone(finding)) return
  const others = finding.changes.filter(({ cause }) => cause !== 'Drift').map(({ address }) => address)
  throw new RunFailure({
    kind: 'cancelled',
    code: 'CAPT_DRIFT_MIXED',
    message: `not corrected: the plan also changes ${others.slice(0, 5).join(', ')}, which nobody else changed`,
    hint: `read it with capt plan ${request.owner.name}; to apply all of it: capt retry ${request.owner.name}`,
  })
}
