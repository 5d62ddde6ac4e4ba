// What every actor of the simulated workload shares.
import type { Condition } from '#api'
import type { Clock } from '#lib'
import { toTimestamp } from '#lib'
import type { Ledger } from './ledger.ts'

export interface Stage {
  readonly clock: Clock
  /** How long things take that take a moment in a real cluster. */
  readonly paceMs: number
  readonly ledger: Ledger
  /** EKS Auto Mode: the controller of nodes is part of EKS, and no Deployment shows it. */
  readonly isAutoMode?: boolean
}

/** Seconds left until something that takes `ms` from `since` is over; zero when it is. */
export function secondsLeft(since: string | undefined, ms: number, nowMs: number): number {
  // Timestamps have whole seconds: what began in this second may already be over.
  const began = since === undefined ? nowMs : Date.parse(since)
  return Math.max(0, (began + ms - nowMs) / 1000)
}

type Draft = {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message?: string
}

/** A list of conditions whose times move only when their status does. */
export function conditionList(
  previous: unknown,
  drafts: readonly Draft[],
  nowMs: number,
  observedGeneration?: number,
): readonly Condition[] {
  const known = Array.isArray(previous) ? (previous as Condition[]) : []
  return drafts.map(({ type, status, reason, message = '' }) => {
    const before = known.find((condition) => condition.type === type)
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : toTimestamp(nowMs)
    return {
      type,
      status,
      reason,
      message,
      lastTransitionTime,
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
    }
  })
}
