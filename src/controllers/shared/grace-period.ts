// Grace period for what others do in the first seconds of an object: core sets the owner reference, an apply writes its
// first status. Reporting the wait at once would cost a status write per object and conflict with the writes of core.
import type { AnyObject } from '#api'
import { type Decision, waiting, waitingInGracePeriod } from '#runtime'
import type { ApplyState } from './apply.ts'
import { secondsLeft } from './deadline.ts'

const GRACE_SECONDS = 5

export function waitForCluster(object: AnyObject, nowMs: number): Decision<never> {
  return waitForOwner(object, nowMs, 'Cluster')
}

export function waitForOwner({ metadata }: AnyObject, nowMs: number, kind: string): Decision<never> {
  const message = `Waiting for Cluster API to set the owner reference to a ${kind}`
  return waitSince(metadata.creationTimestamp, nowMs, `WaitingFor${kind}`, message)
}

export function waitForApply(state: ApplyState, nowMs: number, reason: string, otherwise: string): Decision<never> {
  if (state.is !== 'progressing') return waiting(reason, otherwise)
  return waitSince(state.silentSince, nowMs, reason, state.message)
}

function waitSince(since: string | undefined, nowMs: number, reason: string, message: string): Decision<never> {
  const leftSeconds = since === undefined ? 0 : secondsLeft(since, GRACE_SECONDS, nowMs)
  return leftSeconds > 0 ? waitingInGracePeriod(reason, message, leftSeconds) : waiting(reason, message)
}
