// The result of deciding one stage, and its retry policy: backoff up to a limit, then a person has to act.
import type { StageStatus } from '#api'
import { parseDuration, toTimestamp } from '#lib'
import { act, type Decision, stalled, waiting } from '#runtime'
import type { DeliveryAction, ObservedDelivery, ObservedStage } from '../observed.ts'

type StageState = StageStatus['state']

export interface Fault {
  readonly code: string
  readonly message: string
  readonly hint: string
}

export interface StageDecision {
  readonly observed: ObservedStage
  readonly state: StageState
  readonly decision: Decision<DeliveryAction>
  readonly failure?: Fault
  readonly attempts: number
  readonly lastAttemptAt: string | undefined
  readonly failedAt: string | undefined
  readonly startedAt: string | undefined
  readonly adopted?: string
  /** Set whose missing objects are delivered again by this decision. */
  readonly redelivered?: string
  /** The verification that nodes join, as it is known now. */
  readonly verification?: StageStatus['verification']
}

export const MAX_BACKOFF_MS = 600_000

export type Verdict = Pick<StageDecision, 'state' | 'decision'> & Partial<StageDecision>

export function fail(
  state: StageState,
  fault: Fault,
  retry: readonly DeliveryAction[],
  { stage }: ObservedStage,
  all: ObservedDelivery,
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

function lateInMs(
  { stage }: ObservedStage,
  all: ObservedDelivery,
  before: StageStatus | undefined,
): number | undefined {
  const begun = before?.lastAttemptAt ?? before?.startedAt
  if (begun === undefined) return undefined
  const again = (before?.redelivery ?? []).flatMap(({ at }) => (at === undefined ? [] : [Date.parse(at)]))
  return Math.max(Date.parse(begun), ...again) + parseDuration(stage.timeout) - all.nowMs
}

export function isLate(observed: ObservedStage, all: ObservedDelivery, before: StageStatus | undefined): boolean {
  const left = lateInMs(observed, all, before)
  return left !== undefined && left <= 0
}

export function untilLate(observed: ObservedStage, all: ObservedDelivery, before: StageStatus | undefined): number {
  const left = lateInMs(observed, all, before) ?? parseDuration(observed.stage.timeout)
  return Math.max(1, Math.ceil(left / 1000))
}

/** A person has to act. */
export function stop(reason: string, failure: Fault, retryAfterSeconds?: number): Verdict {
  const { message, hint } = failure
  return { state: 'Failed', decision: stalled(reason, message, hint, retryAfterSeconds), failure }
}

export function pause(reason: string, message: string, retryAfterSeconds?: number): Verdict {
  return { state: 'Waiting', decision: waiting(reason, message, retryAfterSeconds) }
}

/** The verdict on every stage while the workload API does not answer. */
export function unreachable(workload: Extract<ObservedDelivery['workload'], { message: string }>): Verdict {
  if (workload.is === 'forbidden') {
    const hint = 'Give the identity in the kubeconfig an access entry with cluster-admin rights'
    return stop('WorkloadForbidden', { code: 'CAPT_WORKLOAD_FORBIDDEN', message: workload.message, hint }, 60)
  }
  const isLogin = workload.is === 'unauthorized'
  const failure = {
    code: isLogin ? 'CAPT_WORKLOAD_UNAUTHORIZED' : 'CAPT_WORKLOAD_UNREACHABLE',
    message: workload.message,
    hint: isLogin
      ? 'The kubeconfig is refreshed every few minutes; if this stays, check the identity that signs it'
      : 'Check the network path to the API endpoint of the cluster',
  }
  return { ...pause(isLogin ? 'WorkloadUnauthorized' : 'WorkloadUnreachable', workload.message, 15), failure }
}
