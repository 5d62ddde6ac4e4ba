// What an AddonDelivery reports: one entry per stage with delivered and healthy as two columns, and what is under way.
import { RETRY_ANNOTATION, type StageStatus, type TeardownStatus } from '#api'
import { formatDuration, toTimestamp } from '#lib'
import type { ConditionDraft, Decision, FailedAttempt, StatusReport } from '#runtime'
import { judgeStages } from './decide-delivery.ts'
import type { DeliveryAction, DeliverySeen } from './delivery-seen.ts'
import { summarize } from './health.ts'
import { healthHint } from './hints.ts'
import { recordProof } from './judge-probe.ts'
import { recordRedeliveries } from './redelivery.ts'
import { judgeTeardown } from './teardown.ts'
import { isIncomplete } from './teardown-end.ts'
import type { StageJudgement } from './verdict.ts'

export function reportDelivery(seen: DeliverySeen, decision: Decision<DeliveryAction>): StatusReport {
  if (seen.teardown) return reportTeardown(seen)
  const judged = judgeStages(seen)
  const fields = {
    handledRetry: seen.delivery.metadata.annotations?.[RETRY_ANNOTATION],
    kubernetesVersion: seen.kubernetes,
    stages: judged.length > 0 ? judged.map((one) => toStageStatus(one, seen.nowMs)) : seen.delivery.status?.stages,
    teardown: undefined,
  }
  const conditions = [progressing(judged, decision), ...degradedOf(seen, judged)]
  return { fields, conditions, failed: judged.flatMap(failedAttempt) }
}

/** Trouble of a kind that the status did not show yet; counts in its message may change. `failedAt` is set once an attempt. */
function failedAttempt(judged: StageJudgement): readonly FailedAttempt[] {
  const { seen, decision, failedAt } = judged
  const trouble = troubleOf(judged)
  const isNew =
    failedAt === undefined
      ? trouble?.hint !== seen.before?.lastError?.hint && seen.before?.failedAt === undefined
      : failedAt !== seen.before?.failedAt
  if (!trouble || !isNew) return []
  const reason = decision.is === 'waiting' || decision.is === 'stalled' ? decision.reason : 'StageDegraded'
  return [{ class: 'addon', reason, message: `Stage ${seen.stage.name}: ${trouble.message}`, hint: trouble.hint }]
}

function progressing(judged: readonly StageJudgement[], decision: Decision<DeliveryAction>): ConditionDraft {
  const moving = judged
    .filter(({ state }) => state === 'Delivering' || state === 'Checking')
    .map(({ seen }) => seen.stage.name)
  if (isWork(decision) || moving.length > 0)
    return {
      type: 'Progressing',
      status: 'True',
      reason: 'Delivering',
      message: moving.length > 0 ? `Bringing ${moving.join(', ')}` : '',
    }
  const reason = decision.is === 'done' ? 'Settled' : decision.is === 'stalled' ? 'Stalled' : 'Waiting'
  return { type: 'Progressing', status: 'False', reason, message: '' }
}

/** Trouble that has not stopped a stage: it works with less, or it is still being brought and something fails meanwhile. */
function degradedOf({ delivery }: DeliverySeen, judged: readonly StageJudgement[]): readonly ConditionDraft[] {
  const troubles = judged.flatMap((one) => {
    const trouble = one.state === 'Failed' ? undefined : troubleOf(one)
    return trouble ? [`${one.seen.stage.name}: ${trouble.message.replace(/[.\s]+$/, '')}. ${trouble.hint}`] : []
  })
  if (troubles.length > 0)
    return [{ type: 'Degraded', status: 'True', reason: 'StageDegraded', message: troubles.join('; ') }]
  const known = delivery.status?.conditions?.some((condition) => condition.type === 'Degraded')
  return known ? [{ type: 'Degraded', status: 'False', reason: 'NotDegraded', message: '' }] : []
}

/** What is wrong with a stage, whether or not it stops it. */
function troubleOf({
  seen,
  state,
  failure,
}: StageJudgement): (StageStatus['lastError'] & { hint: string }) | undefined {
  if (state !== 'Healthy') return failure
  const finding = seen.parts.flatMap((part) => part.findings ?? []).find((one) => one.state === 'degraded')
  if (!finding) return undefined
  return { code: 'CAPT_STAGE_DEGRADED', message: finding.evidence, hint: healthHint(finding.evidence) }
}

/** Housekeeping on the delivery itself moves nothing: it must not look like a beginning that was broken off. */
function isWork(decision: Decision<DeliveryAction>): boolean {
  return (
    decision.is === 'act' && decision.actions.some((action) => action.do !== 'add-finalizer' && action.do !== 'adopt')
  )
}

function reportTeardown(seen: DeliverySeen): StatusReport {
  const { status, isOver, summary } = judgeTeardown(seen.teardown!, seen.nowMs)
  const isWhole = seen.teardown!.cause === 'cluster'
  const reason = !isOver ? 'TearingDown' : isIncomplete(status) ? 'GaveUp' : 'Removed'
  const tornDown: ConditionDraft = { type: 'TornDown', status: isOver ? 'True' : 'False', reason, message: summary }
  const moving: ConditionDraft = { type: 'Progressing', status: isOver ? 'False' : 'True', reason, message: '' }
  const gone = new Set(seen.stages.filter((one) => !one.isWanted).map((one) => one.stage.name))
  const stages = seen.delivery.status?.stages?.map((one): StageStatus => {
    if (!isWhole && !gone.has(one.name)) return one
    if (isOver && !isWhole) return { name: one.name, state: 'NotWanted' }
    // A stage that was never delivered has nothing to remove.
    if (one.startedAt === undefined) return one
    return { ...one, state: 'Removing', reason, message: summary }
  })
  return {
    fields: { stages, teardown: isOver && !isWhole ? undefined : status },
    conditions: isWhole ? [tornDown, moving] : [moving],
    failed: isOver && isWhole && seen.teardown!.finished === undefined ? leftBehind(status) : [],
  }
}

/** Once, when the teardown ends: the delivery itself goes with its Cluster. */
function leftBehind({ leftovers = [] }: TeardownStatus): readonly FailedAttempt[] {
  if (leftovers.length === 0) return []
  const hint = 'delete it by hand, unless it is still needed'
  return [{ class: 'teardown', reason: 'LeftBehind', message: `Left behind: ${leftovers.join(', ')}`, hint }]
}

function toStageStatus(judged: StageJudgement, nowMs: number): StageStatus {
  const { seen, state, decision } = judged
  const { before, rendered } = seen
  if (!seen.isWanted) return { name: seen.stage.name, state }
  const now = toTimestamp(nowMs)
  const isReady = rendered?.is === 'ready'
  // A part that waits for the one before it has not begun: it is not missing yet.
  const rows = seen.parts.filter((part, i) => i === 0 || part.isWritten).flatMap((part) => part.rows)
  const equal = rows.length > 0 && rows.every((row) => row.equal)
  const deliveredSince = equal ? ((before?.delivered?.equal ? before.delivered.since : undefined) ?? now) : undefined
  const looked = seen.parts.some((part) => part.findings !== undefined)
  const health = state === 'Healthy' ? 'True' : looked ? 'False' : 'Unknown'
  const healthySince = before?.healthy?.status === health ? (before.healthy.since ?? now) : now
  const verification = recordProof(seen, judged.verification)
  const redelivery = recordRedeliveries(seen.parts, before, judged.redelivered, nowMs)
  const speaks = decision.is === 'waiting' || decision.is === 'stalled'
  const isRetrying = state !== 'Healthy' && judged.attempts > 0
  const error = troubleOf(judged) ?? (isRetrying ? before?.lastError : undefined)
  return {
    name: seen.stage.name,
    state,
    ...(speaks ? { reason: decision.reason, message: decision.message } : {}),
    ...(isReady && rendered.version ? { wantedVersion: rendered.version } : {}),
    ...(judged.adopted ? { adopted: judged.adopted } : {}),
    ...(isReady && judged.startedAt ? { contentHash: rendered.hash } : {}),
    ...(rows.length > 0 && seen.hasSets && !judged.adopted
      ? {
          delivered: {
            equal,
            ...(deliveredSince ? { since: deliveredSince } : {}),
            resources: rows.map((row) => ({ ...row, bindingHash: row.bindingHash })),
          },
        }
      : {}),
    healthy: { status: health, evidence: evidenceOf(judged), since: healthySince },
    ...(seen.gate
      ? {
          gate: {
            label: seen.gate.label,
            open: seen.gate.isOurs && seen.gate.isSet,
            ...(isEarly(judged) ? { early: true } : {}),
          },
        }
      : {}),
    ...(verification ? { verification } : {}),
    ...(redelivery.length > 0 ? { redelivery } : {}),
    ...(judged.attempts > 0 ? { attempts: judged.attempts } : {}),
    ...(judged.lastAttemptAt ? { lastAttemptAt: judged.lastAttemptAt } : {}),
    ...(judged.failedAt ? { failedAt: judged.failedAt } : {}),
    ...(error ? { lastError: error } : {}),
    ...(judged.startedAt ? { startedAt: judged.startedAt } : {}),
    ...durationsOf(judged, deliveredSince, state === 'Healthy' ? healthySince : undefined),
  }
}

/** A person set the label before its time: said once, while it matters. */
function isEarly({ seen, state }: StageJudgement): boolean {
  return seen.isEarly && state !== 'Healthy'
}

function evidenceOf({ seen, verification }: StageJudgement): readonly string[] {
  const findings = seen.parts.flatMap((part) => part.findings ?? [])
  const proof = recordProof(seen, verification)
  const isCurrent = seen.rendered?.is === 'ready' && proof?.contentHash === seen.rendered.hash
  return [...summarize(findings), ...(isCurrent && proof.evidence ? [proof.evidence] : [])]
}

function durationsOf(
  { startedAt, seen }: StageJudgement,
  delivered: string | undefined,
  healthy: string | undefined,
): Pick<StageStatus, 'durations'> {
  if (!startedAt) return {}
  // A stage that broke and recovered keeps the time of its first arrival.
  const first = seen.before?.startedAt === startedAt ? seen.before.durations : undefined
  const since = (end: string | undefined) => (end ? formatDuration(Date.parse(end) - Date.parse(startedAt)) : undefined)
  const durations = { delivered: first?.delivered ?? since(delivered), healthy: first?.healthy ?? since(healthy) }
  if (!durations.delivered && !durations.healthy) return {}
  return {
    durations: {
      ...(durations.delivered ? { delivered: durations.delivered } : {}),
      ...(durations.healthy ? { healthy: durations.healthy } : {}),
    },
  }
}
