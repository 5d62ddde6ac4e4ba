// What happens after each class of failure, as data: whether and when another attempt follows by itself, what the
// condition says meanwhile, and what it says when no attempt is left. One definition for apply and destroy.
import type { FaultKind } from './faults.ts'

interface FaultAnswer {
  /** Another attempt follows after the backoff, as often as `spec.retry.limit` allows. */
  readonly retries: boolean
  /** The object is Stalled while the next attempt is due: a person can help now. */
  readonly stalls: boolean
  /** Reason of the condition and of the Warning while another attempt is due. */
  readonly reason: string
  /** The same once no attempt is left. */
  readonly lastReason: string
}

interface FaultPolicy {
  /** Wait after the first attempt, and the longest wait. Each attempt doubles it. */
  readonly backoffSeconds: readonly [first: number, most: number]
  readonly apply: FaultAnswer
  readonly destroy: FaultAnswer
}

const RETRIED: FaultAnswer = {
  retries: true,
  stalls: false,
  reason: 'RetryScheduled',
  lastReason: 'RetriesExhausted',
}
const stops = (reason: string): FaultAnswer => ({ retries: false, stalls: true, reason, lastReason: reason })
/** A destroy is repeated even where an apply stops: the cause may go away, and nothing else would end the deletion. */
const DESTROY_REFUSED: FaultAnswer = { ...RETRIED, stalls: true, reason: 'DestroyFailed' }
const REJECTED: FaultAnswer = {
  retries: true,
  stalls: true,
  reason: 'CredentialsRejected',
  lastReason: 'CredentialsRejected',
}
const LOCKED: FaultAnswer = { retries: true, stalls: false, reason: 'StateLocked', lastReason: 'StateLocked' }

const retried = (first: number, most: number): FaultPolicy => ({
  backoffSeconds: [first, most],
  apply: RETRIED,
  destroy: RETRIED,
})

const FAULT_POLICIES: Readonly<Record<FaultKind, FaultPolicy>> = {
  user: { backoffSeconds: [30, 600], apply: stops('ApplyRejected'), destroy: DESTROY_REFUSED },
  credentials: { backoffSeconds: [30, 600], apply: REJECTED, destroy: REJECTED },
  throttling: retried(30, 600),
  capacity: retried(60, 900),
  dependency: retried(15, 300),
  network: retried(10, 300),
  internal: retried(10, 300),
  memory: retried(30, 600),
  lost: retried(1, 60),
  locked: { backoffSeconds: [15, 600], apply: LOCKED, destroy: LOCKED },
  deadline: { backoffSeconds: [60, 600], apply: stops('TimedOut'), destroy: DESTROY_REFUSED },
  cancelled: { backoffSeconds: [30, 600], apply: stops('Cancelled'), destroy: stops('Cancelled') },
  // Not a failure: the run changed nothing, and starts again when the Cluster is no longer paused.
  paused: { backoffSeconds: [0, 0], apply: RETRIED, destroy: RETRIED },
}

export function faultPolicy(kind: FaultKind): FaultPolicy {
  return FAULT_POLICIES[kind]
}

/** How long to wait before attempt number `attempt` + 1. */
export function backoffSeconds(kind: FaultKind, attempt: number): number {
  const [first, most] = FAULT_POLICIES[kind].backoffSeconds
  return Math.min(most, first * 2 ** Math.max(0, attempt - 1))
}
