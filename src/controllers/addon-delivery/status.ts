// The status of an AddonDelivery: one entry per stage with delivered and healthy as two columns, and progress.
import { ADDONS_HEALTHY, conditionOf, RETRY_ANNOTATION, type StageStatus, type TeardownStatus, UP_TO_DATE } from '#api'
import { definedFields, formatDuration, toTimestamp } from '#lib'
import type { ConditionDraft, Decision, FailedAttempt, StatusReport } from '#runtime'
import { pausedCondition } from '../shared/conditions.ts'
import { decideStages } from './decide.ts'
import { summarize } from './health/health.ts'
import { healthHint } from './health/hints.ts'
import type { DeliveryAction, ObservedDelivery } from './observed.ts'
import { recordProof } from './probe/decide.ts'
import { reportForeignSets } from './resource-set/foreign-sets.ts'
import { recordRedeliveries } from './resource-set/redelivery.ts'
import { reportIgnored, toSkippedStatus } from './stages/auto-mode.ts'
import { typeOf } from './stages/registry.ts'
import type { StageDecision } from './stages/verdict.ts'
import { decideTeardown } from './teardown/decide.ts'
import { isIncomplete } from './teardown/end.ts'

export function reportDelivery(observed: ObservedDelivery, decision: Decision<DeliveryAction>): StatusReport {
  if (observed.teardown) return reportTeardown(observed)
  const decided = decideStages(observed)
  const fields = {
    handledRetry: observed.delivery.metadata.annotations?.[RETRY_ANNOTATION],
    ...revisionFields(observed),
    kubernetesVersion: observed.kubernetes,
    stages:
      decided.length > 0
        ? [
            ...decided.map((one) => toStageStatus(one, observed.nowMs)),
            ...(observed.skipped ?? []).map(toSkippedStatus),
          ]
        : observed.delivery.status?.stages,
    teardown: undefined,
  }
  const foreign = reportForeignSets(observed)
  const ignored = reportIgnored(observed.skipped ?? [], conditionOf(observed.delivery, 'RequestIgnored'))
  const conditions = [
    pausedCondition(observed.pause),
    progressing(decided, decision),
    ...healthOf(decided),
    ...degradedOf(observed, decided),
    ...upToDate(observed),
    ...foreign.conditions,
    ...ignored.conditions,
  ]
  return {
    fields,
    conditions,
    failed: decided.flatMap(failedAttempt),
    warnings: [...foreign.warnings, ...ignored.warnings],
  }
}

function revisionFields({ delivery, revision, nowMs }: ObservedDelivery) {
  const { status } = delivery
  if (!revision || revision.is === 'unknown' || status?.revision === revision.revision) return {}
  return { revision: revision.revision, revisionSince: toTimestamp(nowMs) }
}

/** As it was while there is no pipeline that it may follow. */
function upToDate({ delivery, revision }: ObservedDelivery): readonly ConditionDraft[] {
  if (!revision) return []
  const { name, namespace = delivery.metadata.namespace } = delivery.spec.pipelineRef
  const message = `AddonPipeline ${namespace}/${name} has changed; this Cluster gets the change in its wave`
  return revision.is === 'newest'
    ? [{ type: UP_TO_DATE, status: 'True', reason: 'NewestRevision', message: '' }]
    : [{ type: UP_TO_DATE, status: 'False', reason: 'WaitingForWave', message }]
}

/** Trouble of a kind that the status did not show yet; counts in its message may change. `failedAt` is set once an attempt. */
function failedAttempt(decided: StageDecision): readonly FailedAttempt[] {
  const { observed, decision, failedAt } = decided
  const trouble = troubleOf(decided)
  const isNew =
    failedAt === undefined
      ? trouble?.hint !== observed.before?.lastError?.hint && observed.before?.failedAt === undefined
      : failedAt !== observed.before?.failedAt
  if (!trouble || !isNew) return []
  const reason = decision.is === 'waiting' || decision.is === 'stalled' ? decision.reason : 'StageDegraded'
  return [{ class: 'addon', reason, message: `Stage ${observed.stage.name}: ${trouble.message}`, hint: trouble.hint }]
}

function progressing(decided: readonly StageDecision[], decision: Decision<DeliveryAction>): ConditionDraft {
  const moving = decided
    .filter(({ state }) => state === 'Delivering' || state === 'Checking')
    .map(({ observed }) => observed.stage.name)
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

/** Whether every stage that is asked for was seen to work. Left out while none is. */
function healthOf(decided: readonly StageDecision[]): readonly ConditionDraft[] {
  const wanted = decided.filter(({ observed }) => observed.isWanted)
  if (wanted.length === 0) return []
  const type = ADDONS_HEALTHY
  const sick = wanted.filter(({ state }) => state !== 'Healthy')
  if (sick.length === 0) return [{ type, status: 'True', reason: 'Healthy', message: '' }]
  const failed = sick.filter((one) => one.state === 'Failed' || troubleOf(one))
  const reason = failed.length > 0 ? 'StageFailed' : 'NotYetHealthy'
  const texts = (failed.length > 0 ? failed : sick).map((one) => {
    const { decision, state } = one
    const message = decision.is === 'waiting' || decision.is === 'stalled' ? decision.message : state
    return `${one.observed.stage.name}: ${troubleOf(one)?.message ?? message}`
  })
  return [{ type, status: failed.length > 0 ? 'False' : 'Unknown', reason, message: texts.join('; ') }]
}

/** Trouble that has not stopped a stage: it is degraded, or something fails while it is delivered. */
function degradedOf({ delivery }: ObservedDelivery, decided: readonly StageDecision[]): readonly ConditionDraft[] {
  const troubles = decided.flatMap((one) => {
    const trouble = one.state === 'Failed' ? undefined : troubleOf(one)
    return trouble ? [`${one.observed.stage.name}: ${trouble.message.replace(/[.\s]+$/, '')}. ${trouble.hint}`] : []
  })
  if (troubles.length > 0)
    return [{ type: 'Degraded', status: 'True', reason: 'StageDegraded', message: troubles.join('; ') }]
  const known = delivery.status?.conditions?.some((condition) => condition.type === 'Degraded')
  return known ? [{ type: 'Degraded', status: 'False', reason: 'NotDegraded', message: '' }] : []
}

/** What is wrong with a stage, whether or not it stops it. */
function troubleOf({
  observed,
  state,
  failure,
}: StageDecision): (StageStatus['lastError'] & { hint: string }) | undefined {
  if (state !== 'Healthy') return failure
  const finding = observed.parts.flatMap((part) => part.findings ?? []).find((one) => one.state === 'degraded')
  if (!finding) return undefined
  return { code: 'CAPT_STAGE_DEGRADED', message: finding.evidence, hint: healthHint(finding.evidence) }
}

/** Finalizer and owner of the delivery itself are no progress of a stage. */
function isWork(decision: Decision<DeliveryAction>): boolean {
  return (
    decision.is === 'act' && decision.actions.some((action) => action.do !== 'add-finalizer' && action.do !== 'adopt')
  )
}

function reportTeardown(observed: ObservedDelivery): StatusReport {
  const { status, isOver, summary } = decideTeardown(observed.teardown!, observed.nowMs)
  const isWhole = observed.teardown!.cause === 'cluster'
  const reason = !isOver ? 'TearingDown' : isIncomplete(status) ? 'GaveUp' : 'Removed'
  const tornDown: ConditionDraft = { type: 'TornDown', status: isOver ? 'True' : 'False', reason, message: summary }
  const moving: ConditionDraft = { type: 'Progressing', status: isOver ? 'False' : 'True', reason, message: '' }
  const gone = new Set(observed.stages.filter((one) => !one.isWanted).map((one) => one.stage.name))
  const stages = observed.delivery.status?.stages?.map((one): StageStatus => {
    if (!isWhole && !gone.has(one.name)) return one
    if (isOver && !isWhole) return { name: one.name, state: 'NotWanted' }
    // A stage that was never delivered has nothing to remove.
    if (one.startedAt === undefined) return one
    return { ...one, state: 'Removing', reason, message: summary }
  })
  return {
    fields: { stages, teardown: isOver && !isWhole ? undefined : status },
    conditions: [pausedCondition(observed.pause), ...(isWhole ? [tornDown] : []), moving],
    failed: isOver && isWhole && observed.teardown!.finished === undefined ? leftBehind(status) : [],
  }
}

/** Once, when the teardown ends: the delivery itself goes with its Cluster. */
function leftBehind({ leftovers = [] }: TeardownStatus): readonly FailedAttempt[] {
  if (leftovers.length === 0) return []
  const hint = 'delete it by hand, unless it is still needed'
  return [{ class: 'teardown', reason: 'LeftBehind', message: `Left behind: ${leftovers.join(', ')}`, hint }]
}

function toStageStatus(decided: StageDecision, nowMs: number): StageStatus {
  const { observed, state, decision } = decided
  const { before, rendered } = observed
  if (!observed.isWanted) return { name: observed.stage.name, state }
  const now = toTimestamp(nowMs)
  const isReady = rendered?.is === 'ready'
  const { component } = typeOf(observed.stage)
  // A part that waits for the one before it has not started: it is not missing yet.
  const rows = observed.parts.filter((part, i) => i === 0 || part.isWritten).flatMap((part) => part.rows)
  const equal = rows.length > 0 && rows.every((row) => row.equal)
  const deliveredSince = equal ? ((before?.delivered?.equal ? before.delivered.since : undefined) ?? now) : undefined
  const isChecked = observed.parts.some((part) => part.findings !== undefined)
  const health = state === 'Healthy' ? 'True' : isChecked ? 'False' : 'Unknown'
  const healthySince = before?.healthy?.status === health ? (before.healthy.since ?? now) : now
  const verification = recordProof(observed, decided.verification)
  const redelivery = recordRedeliveries(observed.parts, before, decided.redelivered, nowMs)
  const speaks = decision.is === 'waiting' || decision.is === 'stalled'
  const isRetrying = state !== 'Healthy' && decided.attempts > 0
  const error = troubleOf(decided) ?? (isRetrying ? before?.lastError : undefined)
  return {
    name: observed.stage.name,
    state,
    ...(speaks ? { reason: decision.reason, message: decision.message } : {}),
    ...(component ? { component } : {}),
    ...(isReady && rendered.version ? { wantedVersion: rendered.version } : {}),
    ...(decided.adopted ? { adopted: decided.adopted } : {}),
    ...(isReady && decided.startedAt ? { contentHash: rendered.hash } : {}),
    ...(rows.length > 0 && observed.hasSets && !decided.adopted
      ? {
          delivered: {
            equal,
            ...(deliveredSince ? { since: deliveredSince } : {}),
            resources: rows,
          },
        }
      : {}),
    healthy: { status: health, evidence: evidenceOf(decided), since: healthySince },
    ...(observed.gate
      ? {
          gate: {
            label: observed.gate.label,
            open: observed.gate.isOurs && observed.gate.isSet,
            // A person set the label before the stage was healthy: reported until it is.
            ...(observed.isEarly && state !== 'Healthy' ? { early: true } : {}),
          },
        }
      : {}),
    ...(verification ? { verification } : {}),
    ...(redelivery.length > 0 ? { redelivery } : {}),
    ...(decided.attempts > 0 ? { attempts: decided.attempts } : {}),
    ...(decided.lastAttemptAt ? { lastAttemptAt: decided.lastAttemptAt } : {}),
    ...(decided.failedAt ? { failedAt: decided.failedAt } : {}),
    ...(error ? { lastError: error } : {}),
    ...(decided.startedAt ? { startedAt: decided.startedAt } : {}),
    ...durationsOf(decided, deliveredSince, state === 'Healthy' ? healthySince : undefined),
  }
}

function evidenceOf({ observed, verification }: StageDecision): readonly string[] {
  const findings = observed.parts.flatMap((part) => part.findings ?? [])
  const proof = recordProof(observed, verification)
  const isCurrent = observed.rendered?.is === 'ready' && proof?.contentHash === observed.rendered.hash
  return [...summarize(findings), ...(isCurrent && proof.evidence ? [proof.evidence] : [])]
}

function durationsOf(
  { startedAt, observed }: StageDecision,
  delivered: string | undefined,
  healthy: string | undefined,
): Pick<StageStatus, 'durations'> {
  if (!startedAt) return {}
  // A stage that broke and recovered keeps the time of its first arrival.
  const first = observed.before?.startedAt === startedAt ? observed.before.durations : undefined
  const since = (end: string | undefined) => (end ? formatDuration(Date.parse(end) - Date.parse(startedAt)) : undefined)
  const durations = { delivered: first?.delivered ?? since(delivered), healthy: first?.healthy ?? since(healthy) }
  return durations.delivered || durations.healthy ? { durations: definedFields(durations) } : {}
}
