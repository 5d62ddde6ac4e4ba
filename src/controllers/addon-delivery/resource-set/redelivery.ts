// Delivers again what was delivered and is missing, with backoff and up to a limit. Objects go missing when a person
// deletes them, and when a simulated cluster moves and starts empty. Pure.
import type { StageStatus } from '#api'
import { parseDuration, toTimestamp } from '#lib'
import { act, stalled, waiting } from '#runtime'
import type { DeliveryAction, ObservedDelivery, ObservedPart, ObservedStage } from '../observed.ts'
import { MAX_BACKOFF_MS, type Verdict } from '../stages/verdict.ts'

type Redelivery = NonNullable<StageStatus['redelivery']>[number]

/** Deletions further apart than this do not count towards the limit. */
const FORGOTTEN_AFTER_MS = 6 * 3_600_000
const NAMES_SHOWN = 3

const recordOf = (before: StageStatus | undefined, set: string): Redelivery | undefined =>
  before?.redelivery?.find((one) => one.set === set)

/** Undefined when nothing is surely missing. The first time comes after twice the stage's backoff: about a minute. */
export function decideAbsence(
  { stage }: ObservedStage,
  { part, absence }: ObservedPart,
  all: ObservedDelivery,
  before: StageStatus | undefined,
): Verdict | undefined {
  if (!absence?.isCertain) return undefined
  const record = recordOf(before, part.set)
  const times = record?.times ?? 0
  const fault = {
    code: 'CAPT_OBJECTS_MISSING',
    message: `${part.set} was delivered, but the workload cluster lacks ${shorten(absence.names)}`,
    hint: 'capt delivers it again; if it keeps going away, find out who deletes it, then capt retry',
  }
  if (times >= stage.retry.limit) {
    const message = `${fault.message} (gave up after ${times} ${times === 1 ? 'redelivery' : 'redeliveries'})`
    return { state: 'Failed', decision: stalled('ObjectsMissing', message, fault.hint, 600), failure: fault }
  }
  const backoffMs = Math.min(MAX_BACKOFF_MS, parseDuration(stage.retry.backoff) * 2 ** (times + 1))
  const dueInMs = Date.parse(record?.since ?? toTimestamp(all.nowMs)) + backoffMs - all.nowMs
  if (dueInMs > 0) {
    const message = `${fault.message} (redelivery ${times + 1} of ${stage.retry.limit} follows)`
    const decision = waiting('ObjectsMissing', message, Math.ceil(dueInMs / 1000))
    return { state: 'Delivering', decision, failure: fault }
  }
  const again: DeliveryAction = { do: 'redeliver', stage, part, why: fault.message }
  return { state: 'Delivering', decision: act(again), failure: fault, redelivered: part.set }
}

/** What status records per part: since when objects are missing, and how often they were delivered again. */
export function recordRedeliveries(
  parts: readonly ObservedPart[],
  before: StageStatus | undefined,
  redelivered: string | undefined,
  nowMs: number,
): readonly Redelivery[] {
  const now = toTimestamp(nowMs)
  return parts.flatMap(({ part: { set }, absence }): Redelivery[] => {
    const record = recordOf(before, set)
    if (set === redelivered) return [{ set, times: (record?.times ?? 0) + 1, at: now }]
    const isRecent = record?.at !== undefined && nowMs - Date.parse(record.at) < FORGOTTEN_AFTER_MS
    const history = isRecent ? { times: record.times ?? 0, at: record.at } : {}
    if (absence) return [{ set, absent: [...absence.names], since: record?.since ?? now, ...history }]
    return isRecent ? [{ set, ...history }] : []
  })
}

function shorten(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_SHOWN).join(', ')
  return names.length > NAMES_SHOWN ? `${shown} and ${names.length - NAMES_SHOWN} more` : shown
}
