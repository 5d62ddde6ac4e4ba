// Judges one part of a stage: is it written, has core delivered it, and does the workload cluster show that it works?
import type { StageStatus } from '#api'
import { act, waiting } from '#runtime'
import type { DeliveryAction, DeliverySeen, PartSeen, StageSeen } from './delivery-seen.ts'
import { isWorking } from './health-finding.ts'
import { targetOf } from './health-read.ts'
import { healthHint } from './hints.ts'
import { judgeAbsence } from './redelivery.ts'
import { fail, isLate, untilLate, type Verdict } from './verdict.ts'

/** Undefined when the part is delivered and healthy. */
export function judgePart(
  seen: StageSeen,
  part: PartSeen,
  index: number,
  all: DeliverySeen,
  before: StageStatus | undefined,
  gate: readonly DeliveryAction[],
): Verdict | undefined {
  const { stage } = seen
  if (gate.length > 0 || !part.isWritten) {
    const deliver: DeliveryAction[] = part.isWritten ? [] : [{ do: 'deliver', stage: stage.name, part: index }]
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
    const retry: DeliveryAction = { do: 'nudge', stage: stage.name, part: index, attempt: (before?.attempts ?? 0) + 1 }
    if (isBroken || isLate(seen, all, before)) return fail('Delivering', fault, [retry], seen, all, before)
    return { state: 'Delivering', decision: waiting('NotDelivered', message, untilLate(seen, all, before)) }
  }
  return judgeAbsence(seen, part, index, all, before) ?? judgeFindings(seen, part, index, all, before)
}

export function judgeFindings(
  seen: StageSeen,
  part: PartSeen,
  index: number,
  all: DeliverySeen,
  before: StageStatus | undefined,
): Verdict | undefined {
  const { findings } = part
  if (!findings) return { state: 'Checking', decision: waiting('NotLookedYet', 'Looking into the workload cluster') }
  const broken = findings.filter((finding) => finding.state === 'failed')
  const open = findings.filter((finding) => !isWorking(finding))
  if (open.length === 0) return undefined
  const isOver = isLate(seen, all, before)
  const cause = broken[0] ?? open.find((finding) => finding.isCause)
  const message = (cause ?? open[0])!.evidence
  if (broken.length === 0 && !isOver) {
    const decision = waiting('NotHealthy', message, untilLate(seen, all, before))
    // A cause is shown as soon as it is seen, not only when the stage has run out of time.
    const failure = { code: 'CAPT_STAGE_TROUBLED', message, hint: healthHint(message) }
    return { state: 'Checking', decision, ...(cause ? { failure } : {}) }
  }
  const code = broken.length > 0 ? 'CAPT_STAGE_UNHEALTHY' : 'CAPT_STAGE_TIMEOUT'
  const text = broken.length > 0 ? message : `Not healthy after ${seen.stage.timeout}: ${message}`
  return fail(
    'Checking',
    { code, message: text, hint: healthHint(text) },
    retriesFor(seen, part, index, before, text),
    seen,
    all,
    before,
  )
}

/** Releases are told to start over; what no release stands behind is delivered again. */
function retriesFor(
  seen: StageSeen,
  { part }: PartSeen,
  index: number,
  before: StageStatus | undefined,
  why: string,
): readonly DeliveryAction[] {
  const attempt = (before?.attempts ?? 0) + 1
  const releases = part.checks.filter((check) => check.type === 'HelmReleaseReady')
  // A shared carrier is left alone: what is there and does not work would make every cluster of an outage its own copy.
  if (releases.length === 0 && part.carriers.some((carrier) => carrier.shared))
    return [{ do: 'nudge', stage: seen.stage.name, part: index, attempt }]
  if (releases.length === 0) return [{ do: 'redeliver', stage: seen.stage.name, part: index, why }]
  // Sources first: a release that starts over on an old artifact would fail the same way.
  const sources = part.checks.filter((check) => check.type === 'SourceReady')
  return [...sources, ...releases].map((check) => ({ do: 'retry-flux', target: targetOf(check), attempt }))
}
