// Runs in progress and runs that wait for a slot, for any engine; schedule.ts decides who is next. A queue may be a thousand
// long, and every run in it has its module: they are kept packed.
import { keyText } from '#api'
import type { Clock, Timer } from '#lib'
import type { StartRequest } from '../port.ts'
import { packed } from '../record/packed.ts'
import type { Versioned } from '../record/record-store.ts'
import type { ObjectKey } from '../workspace.ts'
import type { Limits } from './limits.ts'
import { LONG_MS, type Place, type QueueReason, type RunningPlace, schedule, type WaitingPlace } from './schedule.ts'

export interface QueuedRun {
  readonly request: StartRequest
  /** The record that was written for it. */
  readonly written: Versioned
}

/** What a waiting run is reported with. */
export interface QueuePosition {
  /** One more than the runs that joined before it and still wait, rounded up so that few changes are written. */
  readonly position: number
  readonly reason: QueueReason
}

/** Returns when the run is under way. */
type Begin = (run: QueuedRun) => Promise<void>

interface Waiting extends WaitingPlace {
  /** Set when its record is written: from then on it may begin. */
  readonly queued?: { readonly runId: string; readonly begin: Begin }
}

export class RunQueue {
  readonly #limits: Limits
  readonly #clock: Clock
  readonly #waiting = new Map<string, Waiting>()
  readonly #running = new Map<string, RunningPlace>()
  readonly #served = new Map<string, number>()
  /** Runs that have a slot and are not under way yet. */
  readonly #beginning = new Map<string, string>()
  readonly #runs = packed<QueuedRun>()
  #reasons: ReadonlyMap<string, QueueReason> = new Map()
  #number = 0
  #starts = 0
  #timer: Timer | undefined

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** Joins the queue. True: the run has a slot and begins at once; false: `add` it when its record is written. */
  enter(place: Place): boolean {
    this.#waiting.set(place.id, { ...place, number: ++this.#number, sinceMs: this.#clock.monotonic() })
    this.#next()
    return this.#running.has(place.id)
  }

  /** A run that has entered, with its record: `begin` is called when it has a slot. */
  add(run: QueuedRun, begin: Begin): void {
    const id = keyText(run.request.owner)
    const runId = run.written.record.run!.id
    const place = this.#waiting.get(id)
    this.#runs.set(id, run)
    if (place) this.#waiting.set(id, { ...place, queued: { runId, begin } })
    else if (this.#running.has(id)) void this.#begin(id, runId, begin)
    else this.#runs.delete(id)
  }

  /** Counts a run that is already in progress, also beyond the limits. */
  occupy(place: Place): void {
    this.#running.set(place.id, { ...place, sinceMs: this.#clock.monotonic() })
  }

  /** The run has ended, or did not begin after all. */
  leave(key: ObjectKey): void {
    this.remove(key)
    if (this.#running.delete(keyText(key))) this.#next()
  }

  has(key: ObjectKey): boolean {
    return this.runIdOf(key) !== undefined
  }

  /** Of a run that waits, or has its slot and is not under way yet. */
  runIdOf(key: ObjectKey): string | undefined {
    const id = keyText(key)
    return this.#waiting.get(id)?.queued?.runId ?? this.#beginning.get(id)
  }

  positionOf(key: ObjectKey): QueuePosition | undefined {
    const place = this.#waiting.get(keyText(key))
    const reason = this.#reasons.get(keyText(key))
    if (!place || !reason) return undefined
    let before = 0
    for (const { number, isDrift } of this.#waiting.values())
      if (number < place.number && (place.isDrift || !isDrift)) before++
    return { position: rounded(before + 1), reason }
  }

  /** Takes a waiting run out of the queue. */
  remove(key: ObjectKey): void {
    const id = keyText(key)
    this.#waiting.delete(id)
    this.#runs.delete(id)
  }

  /** Drops the waiting runs. None has begun; the next manager starts them. */
  clear(): void {
    for (const id of this.#waiting.keys()) this.#runs.delete(id)
    this.#waiting.clear()
    this.#timer?.cancel()
  }

  #next(): void {
    const state = {
      waiting: [...this.#waiting.values()],
      running: [...this.#running.values()],
      served: this.#served,
      nowMs: this.#clock.monotonic(),
    }
    const { start, waits } = schedule(state, this.#limits)
    this.#reasons = waits
    for (const place of start) {
      const { queued } = place as Waiting
      this.#waiting.delete(place.id)
      this.#served.set(place.namespace, ++this.#starts)
      this.occupy(place)
      if (queued) void this.#begin(place.id, queued.runId, queued.begin)
    }
    if (this.#waiting.size === 0 && this.#running.size === 0) this.#served.clear()
    this.#wakeForOvertime()
  }

  /** A run gives its slot away when it has lasted a minute: the next one may begin then. */
  #wakeForOvertime(): void {
    this.#timer?.cancel()
    if (this.#limits.overtime === 0 || this.#waiting.size === 0) return
    const ages = [...this.#running.values()].map(({ sinceMs }) => this.#clock.monotonic() - sinceMs)
    const youngest = ages.filter((age) => age < LONG_MS)
    if (youngest.length > 0) this.#timer = this.#clock.after(LONG_MS - Math.max(...youngest), () => this.#next())
  }

  async #begin(id: string, runId: string, begin: Begin): Promise<void> {
    const run = this.#runs.get(id)!
    this.#runs.delete(id)
    this.#beginning.set(id, runId)
    try {
      await begin(run)
    } finally {
      this.#beginning.delete(id)
    }
  }
}

/** 1, 2, 5, 10, 20, 50, …: each place that moves up is written at most a few times. */
function rounded(position: number): number {
  for (let unit = 1; ; unit *= 10) for (const step of [1, 2, 5]) if (position <= step * unit) return step * unit
}
