// What may be said about one stage, and how failures are tried again: with backoff, up to a limit, then a person acts.
import type { StageStatus } from '#api'
import { parseDuration, toTimestamp } from '#lib'
import { act, type Decision, stalled, waiting } from '#runtime'
import type { DeliveryAction, DeliverySeen, StageSeen } from './delivery-seen.ts'

export type StageState = StageStatus['state']

export interface StageJudgement {
  readonly seen: StageSeen
  readonly state: StageState
  readonly decision: Decision<DeliveryAction>
  readonly failure?: { readonly code: string; readonly message: string; readonly hint: string }
  readonly attempts: number
  readonly lastAttemptAt: string | undefined
  readonly failedAt: string | undefined
  readonly startedAt: string | undefined
  readonly adopted?: string
  /** Set whose objects were missing and are brought again in this turn. */
  readonly redelivered?: string
  /** What is now known about the proof that machines come. */
  readonly verification?: StageStatus['verification']
}

export const MAX_BACKOFF_MS = 600_000

export type Verdict = Pick<StageJudgement, 'state' | 'decision'> & Partial<StageJudgement>

export function fail(
  state: StageState,
  fault: { readonly code: string; readonly message: string; readonly hint: string },
  retry: readonly DeliveryAction[],
  { stage }: StageSeen,
  all: DeliverySeen,
  before: StageStatus | undefined,
): Verdict {
  const attempts = before?.attempts ?? 0
  const failedAt = before?.failedAt ?? toTimestamp(all.nowMs)
  if (attempts >= stage.retry.limit) {
    const message = `${fault.message} (gave up after ${attempts} ${attempts === 1 ? 'retry' : 'retries'})`
    return {
      state: 'Failed',
      decision: stalled('RetriesExhausted', message, fault.hint, 600),
      failure: fault,
      failedAt,
    }
  }
  const backoff = Math.min(MAX_BACKOFF_MS, parseDuration(stage.retry.backoff) * 2 ** attempts)
  const dueInMs = Date.parse(failedAt) + backoff - all.nowMs
  if (dueInMs > 0) {
    const message = `${fault.message} (retry ${attempts + 1} of ${stage.retry.limit} follows)`
    return { state, decision: waiting('RetryScheduled', message, Math.ceil(dueInMs / 1000)), failure: fault, failedAt }
  }
  const lastAttemptAt = toTimestamp(all.nowMs)
  return { state, decision: act(...retry), failure: fault, failedAt: undefined, attempts: attempts + 1, lastAttemptAt }
}

function lateInMs({ stage }: StageSeen, all: DeliverySeen, before: StageStatus | undefined): number | undefined {
  const begun = before?.lastAttemptAt ?? before?.startedAt
  if (begun === undefined) return undefined
  const again = (before?.redelivery ?? []).flatMap(({ at }) => (at === undefined ? [] : [Date.parse(at)]))
  return Math.max(Date.parse(begun), ...again) + parseDuration(stage.timeout) - all.nowMs
}

export function isLate(seen: StageSeen, all: DeliverySeen, before: StageStatus | undefined): boolean {
  const left = lateInMs(seen, all, before)
  return left !== undefined && left <= 0
}

export function untilLate(seen: StageSeen, all: DeliverySeen, before: StageStatus | undefined): number {
  const left = lateInMs(seen, all, before) ?? parseDuration(seen.stage.timeout)
  return Math.max(1, Math.ceil(left / 1000))
}

export function pause(reason: string, message: string, retryAfterSeconds?: number): Verdict {
  return { state: 'Waiting', decision: waiting(reason, message, retryAfterSeconds) }
}
