// What others do for a new object in its first seconds: core sets the owner reference, an apply gives its first report. Who
// says at once that it waits for that writes a status for each of them and races with core for it; after a few seconds
// it is worth knowing.
import type { AnyObject } from '#api'
import { type Decision, waiting, waitingAMoment } from '#runtime'
import type { ApplyState } from './apply.ts'
import { secondsLeft } from './deadline.ts'

const MOMENT_SECONDS = 5

export function waitForCluster({ metadata }: AnyObject, nowMs: number): Decision<never> {
  const message = 'Waiting for Cluster API to set the owner reference to a Cluster'
  return waitSince(metadata.creationTimestamp, nowMs, 'WaitingForCluster', message)
}

export function waitForApply(state: ApplyState, nowMs: number, reason: string, otherwise: string): Decision<never> {
  if (state.is !== 'progressing') return waiting(reason, otherwise)
  return waitSince(state.silentSince, nowMs, reason, state.message)
}

function waitSince(since: string | undefined, nowMs: number, reason: string, message: string): Decision<never> {
  const leftSeconds = since === undefined ? 0 : secondsLeft(since, MOMENT_SECONDS, nowMs)
  return leftSeconds > 0 ? waitingAMoment(reason, message, leftSeconds) : waiting(reason, message)
}
