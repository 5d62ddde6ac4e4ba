// How far an update is: the counts, whether it goes on, and when it counts as failed. Pure.
import { toTimestamp } from '#lib'
import { type Decision, done, stalled, waiting } from '#runtime'
import { firstFailure } from '../machine-set/facts.ts'
import { secondsLeft } from '../shared/deadline.ts'
import type { Observed } from './observe.ts'

export interface Counts {
  readonly replicas: number
  readonly updated: number
  readonly ready: number
  readonly available: number
}

export function countsOf({ sets }: Observed): Counts {
  const active = sets.flatMap(({ isCurrent, facts }) =>
    facts.filter(({ isDeleting }) => !isDeleting).map((fact) => ({ ...fact, isCurrent })),
  )
  return {
    replicas: active.length,
    updated: active.filter(({ isCurrent }) => isCurrent).length,
    ready: active.filter(({ isReady }) => isReady).length,
    available: active.filter(({ isAvailable }) => isAvailable).length,
  }
}

export function isComplete({ object }: Observed, { replicas, updated, available }: Counts): boolean {
  const wanted = object.spec.replicas
  return updated === wanted && replicas === wanted && available === wanted
}

/** When an update last changed a count for the better. A change of the spec begins a new update. */
export function lastProgress(observed: Observed, counts: Counts): string {
  const { object, nowMs } = observed
  const { status } = object
  const before = {
    updated: status?.updatedReplicas ?? 0,
    available: status?.availableReplicas ?? 0,
    old: (status?.replicas ?? 0) - (status?.updatedReplicas ?? 0),
  }
  const isNew = status?.observedGeneration !== object.metadata.generation
  const isBetter =
    counts.updated > before.updated ||
    counts.available > before.available ||
    counts.replicas - counts.updated < before.old
  return isNew || isBetter || !status?.lastProgressTime ? toTimestamp(nowMs) : status.lastProgressTime
}

function deadlineLeft(observed: Observed, counts: Counts): number {
  const { object, nowMs } = observed
  return secondsLeft(lastProgress(observed, counts), object.spec.progressDeadlineSeconds, nowMs)
}

export function decideProgress(observed: Observed): Decision<never> {
  const { object } = observed
  const counts = countsOf(observed)
  const { name } = object.metadata
  const undo = `correct the cause, or go back: capt rollout undo ${name}`
  const failure = firstFailure(observed.sets.flatMap(({ machines }) => machines))
  if (failure !== undefined) return stalled('MachineFailed', failure, undo)
  if (isComplete(observed, counts)) return done
  if (object.spec.paused) return waiting('RolloutPaused', `${progressText(observed, counts)}; the update is paused`)
  const left = deadlineLeft(observed, counts)
  if (left === 0)
    return stalled(
      'ProgressDeadlineExceeded',
      `No progress for ${object.spec.progressDeadlineSeconds} s: ${progressText(observed, counts)}`,
      undo,
    )
  const { nextAvailableSeconds = left } = observed
  return waiting('RollingOut', progressText(observed, counts), Math.min(left, nextAvailableSeconds))
}

export function progressText({ object }: Observed, { replicas, updated, available }: Counts): string {
  const old = replicas - updated
  const rest = old > 0 ? `, ${old} of earlier templates ${old === 1 ? 'is' : 'are'} left` : ''
  return `${updated} of ${object.spec.replicas} machines are updated, ${available} are available${rest}`
}
