// Decides which waiting runs start, and why the others wait. Pure: the same queue, the same decision.
//
// Runs start in the order of their age, with four exceptions. A run that a limit holds back is skipped, not waited for.
// Namespaces alternate, so that a hundred runs of one do not delay another. Within a namespace a destroy comes first: what was
// deleted costs money and holds names and quota. Drift checks come last, until they are an hour old.
// Runs that may last long never take the last slot of a limit: one is left for runs known to be quick.
import type { QUEUE_REASONS } from '#api'
import type { Limits } from './limits.ts'

export interface Place {
  /** `namespace/name` of the apply. */
  readonly id: string
  readonly namespace: string
  /** Who pays: the Secrets with credentials, or the identity of the runner. */
  readonly identity: string
  readonly isDrift: boolean
  /** What it destroys was deleted. */
  readonly isDestroy: boolean
  /** Its last run took less than a minute. */
  readonly isQuick: boolean
}

export interface WaitingPlace extends Place {
  /** Grows with every run that joins. */
  readonly number: number
  readonly sinceMs: number
}

export interface RunningPlace extends Place {
  readonly sinceMs: number
}

interface QueueState {
  readonly waiting: readonly WaitingPlace[]
  readonly running: readonly RunningPlace[]
  /** By namespace: a number that grows with each start. */
  readonly served: ReadonlyMap<string, number>
  readonly nowMs: number
}

export type QueueReason = (typeof QUEUE_REASONS)[number]

interface Schedule {
  /** In the order in which they start. */
  readonly start: readonly WaitingPlace[]
  /** Why each of the others waits, by id. */
  readonly waits: ReadonlyMap<string, QueueReason>
}

/** A run that lasts longer waits for the cloud more than it computes. */
export const LONG_MS = 60_000
/** A drift check of this age counts as an ordinary run. */
const AGED_MS = 3_600_000
/** A limit of this many keeps one slot for quick runs; in a smaller one it would be missed. */
const RESERVES_FROM = 4

export function schedule({ waiting, running, served, nowMs }: QueueState, limits: Limits): Schedule {
  const inProgress = [...running]
  const last = new Map(served)
  let clock = Math.max(0, ...served.values())
  const left = new Set([...waiting].sort((a, b) => a.number - b.number))
  const start: WaitingPlace[] = []
  for (;;) {
    const next = choose(left, inProgress, last, nowMs, limits)
    if (!next) break
    left.delete(next)
    start.push(next)
    inProgress.push({ ...next, sinceMs: nowMs })
    last.set(next.namespace, ++clock)
  }
  const waits = new Map<string, QueueReason>()
  for (const place of left) waits.set(place.id, blockerOf(place, inProgress, nowMs, limits)!)
  return { start, waits }
}

/** Of the runs that no limit holds back: the eldest of the namespace that was served longest ago, destroys first. */
function choose(
  left: ReadonlySet<WaitingPlace>,
  running: readonly RunningPlace[],
  served: ReadonlyMap<string, number>,
  nowMs: number,
  limits: Limits,
): WaitingPlace | undefined {
  if (left.size === 0 || !hasSlot(running, nowMs, limits)) return undefined
  let best: { readonly place: WaitingPlace; readonly rank: readonly number[] } | undefined
  for (const place of left) {
    const isLast = place.isDrift && nowMs - place.sinceMs < AGED_MS
    const rank = [isLast ? 1 : 0, served.get(place.namespace) ?? 0, place.isDestroy ? 0 : 1, place.number]
    if (best && compare(best.rank, rank) <= 0) continue
    if (blockerOf(place, running, nowMs, limits) === undefined) best = { place, rank }
  }
  return best?.place
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, i) => value !== b[i])
  return at < 0 ? 0 : a[at]! - b[at]!
}

/** The limit that holds a run back; the narrowest is named first, because it ends with fewer runs. */
function blockerOf(
  place: Place,
  running: readonly RunningPlace[],
  nowMs: number,
  limits: Limits,
): QueueReason | undefined {
  const isFull = (others: readonly RunningPlace[], limit: number): boolean => {
    if (others.length >= limit) return true
    const forLong = limit >= RESERVES_FROM ? limit - 1 : limit
    return !place.isQuick && others.filter((other) => mayLast(other, nowMs)).length >= forLong
  }
  if (place.isDrift && running.filter(({ isDrift }) => isDrift).length >= limits.drift) return 'AllSlotsTaken'
  const ofIdentity = running.filter(({ identity }) => identity === place.identity)
  if (isFull(ofIdentity, limits.perIdentity)) return 'IdentityLimit'
  const ofNamespace = running.filter(({ namespace }) => namespace === place.namespace)
  if (isFull(ofNamespace, limits.perNamespace)) return 'NamespaceLimit'
  if (!hasSlot(running, nowMs, limits) || isFull(running, limits.total + limits.overtime)) return 'AllSlotsTaken'
  return undefined
}

/** Runs in overtime hold no slot, as far as there is room for them beside the slots. */
function hasSlot(running: readonly RunningPlace[], nowMs: number, { total, overtime }: Limits): boolean {
  const long = running.filter(({ sinceMs }) => nowMs - sinceMs >= LONG_MS).length
  return running.length - Math.min(long, overtime) < total
}

const mayLast = ({ isQuick, sinceMs }: RunningPlace, nowMs: number): boolean => !isQuick || nowMs - sinceMs >= LONG_MS
