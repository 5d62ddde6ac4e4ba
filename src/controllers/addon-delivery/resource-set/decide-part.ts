// Decides one part of a stage: whether it is written, delivered by core, and healthy in the workload cluster.
import type { StageStatus } from '#api'
import { act, waiting } from '#runtime'
import { isWorking } from '../health/finding.ts'
import { healthHint } from '../health/hints.ts'
import { targetOf } from '../health/read.ts'
import type { DeliveryAction, ObservedDelivery, ObservedPart, ObservedStage } from '../observed.ts'
import { fail, isLate, untilLate, type Verdict } from '../stages/verdict.ts'
import { decideAbsence } from './redelivery.ts'

/** Undefined when the part is delivered and healthy. */
export function decidePart(
  observed: ObservedStage,
  part: ObservedPart,
  all: ObservedDelivery,
  before: StageStatus | undefined,
  gate: readonly DeliveryAction[],
): Verdict | undefined {
  const { stage } = observed
  if (gate.length > 0 || !part.isWritten) {
    const deliver: DeliveryAction[] = part.isWritten ? [] : [{ do: 'deliver', stage, part: part.part }]
    return { state: 'Delivering', decision: act<DeliveryAction>(...gate, ...deliver) }
  }
  const open = part.rows.filter((row) => !row.equal)
  if (open.length > 0) {
    const names = open
      .map((row) => row.name)
      .sort()
      .join(', ')
    const why = part.complaint ? `: ${part.complaint}` : ''
    const message = `${part.part.set} has not delivered ${names}${why}`
    const isBroken = open.some((row) => !row.applied && row.bindingHash === row.ourHash) || part.complaint !== undefined
    const hint = 'Look at the ClusterResourceSet and its binding; capt makes core look again by itself'
    const fault = { code: 'CAPT_NOT_DELIVERED', message, hint }
    const retry: DeliveryAction = { do: 'nudge', stage, part: part.part, attempt: (before?.attempts ?? 0) + 1 }
    if (isBroken || isLate(observed, all, before)) return fail('Delivering', fault, [retry], observed, all, before)
    return { state: 'Delivering', decision: waiting('NotDelivered', message, untilLate(observed, all, before)) }
  }
  return decideAbsence(observed, part, all, before) ?? decideFindings(observed, part, all, before)
}

export function decideFindings(
  observed: ObservedStage,
  part: ObservedPart,
  all: ObservedDelivery,
  before: StageStatus | undefined,
): Verdict | undefined {
  const { findings } = part
  if (!findings) return { state: 'Checking', decision: waiting('NotLookedYet', 'Looking into the workload cluster') }
  const broken = findings.filter((finding) => finding.state === 'failed')
  const open = findings.filter((finding) => !isWorking(finding))
  if (open.length === 0) return undefined
  const isOver = isLate(observed, all, before)
  const cause = broken[0] ?? open.find((finding) => finding.isCause)
  const message = (cause ?? open[0])!.evidence
  if (broken.length === 0 && !isOver) {
    const decision = waiting('NotHealthy', message, untilLate(observed, all, before))
    // A cause is reported as soon as it is observed, not only after the timeout.
    const failure = { code: 'CAPT_STAGE_TROUBLED', message, hint: healthHint(message) }
    return { state: 'Checking', decision, ...(cause ? { failure } : {}) }
  }
  const code = broken.length > 0 ? 'CAPT_STAGE_UNHEALTHY' : 'CAPT_STAGE_TIMEOUT'
  const text = broken.length > 0 ? message : `Not healthy after ${observed.stage.timeout}: ${message}`
  return fail(
    'Checking',
    { code, message: text, hint: healthHint(text) },
    retriesFor(observed, part, before, text),
    observed,
    all,
    before,
  )
}

/** HelmReleases are asked to reconcile again; anything else is delivered again. */
function retriesFor(
  observed: ObservedStage,
  { part }: ObservedPart,
  before: StageStatus | undefined,
  why: string,
): readonly DeliveryAction[] {
  const attempt = (before?.attempts ?? 0) + 1
  const releases = part.checks.filter((check) => check.type === 'HelmReleaseReady')
  // A shared payload is not redelivered: in an outage every cluster would get a copy of its own.
  if (releases.length === 0 && part.payloads.some((payload) => payload.shared))
    return [{ do: 'nudge', stage: observed.stage, part, attempt }]
  if (releases.length === 0) return [{ do: 'redeliver', stage: observed.stage, part, why }]
  // Sources first: a release that retries with an old artifact would fail the same way.
  const sources = part.checks.filter((check) => check.type === 'SourceReady')
  return [...sources, ...releases].map((check) => ({ do: 'retry-flux', target: targetOf(check), attempt }))
}
