// What every actor of the simulated workload shares.
import { type AnyObject, type Condition, DeploymentKind, type KindRef } from '#api'
import type { Cache } from '#kube'
import { type Clock, toTimestamp } from '#lib'
import type { Wake } from '#runtime'
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

/** Wakes every object of a kind when one of another kind changes. */
export const wakeAll = (kind: KindRef, from: KindRef): Wake => ({
  kind: from,
  toKeys: (_changed, cache) => cache.keys(kind),
})

/** Wakes every object of a kind when the Deployment of its controller comes or goes. */
export const wakeOnDeployment = (kind: KindRef, name: string): Wake => ({
  kind: DeploymentKind,
  toKeys: ({ metadata }, cache) => (metadata.name === name ? cache.keys(kind) : []),
})

/** Wakes the owner, of this kind, of an object that changed. */
export const wakeOwner = (owner: KindRef, kind: KindRef): Wake => ({
  kind,
  toKeys: ({ metadata }) =>
    (metadata.ownerReferences ?? [])
      .filter((one) => one.kind === owner.kind)
      .map(({ name }) => ({ namespace: metadata.namespace!, name })),
})

/** Whether a controller of the workload runs, by the name of its Deployment. */
export function isRunning(cache: Cache, name: string): boolean {
  return cache
    .list<AnyObject & { status?: { availableReplicas?: number } }>(DeploymentKind)
    .some((one) => one.metadata.name === name && (one.status?.availableReplicas ?? 0) > 0)
}
