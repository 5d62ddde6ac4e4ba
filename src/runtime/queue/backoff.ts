// How long a failing key waits: exponential per key, and a token bucket over all keys, so that a thousand objects
// failing together (an API outage) do not come back as one wave.
import type { Clock } from '#lib'

const BASE_MS = 5
const MAX_MS = 1_000_000
const BURST = 100
const PER_SECOND = 10

export class Backoff {
  readonly #clock: Clock
  readonly #failures = new Map<string, number>()
  #tokens = BURST
  #countedAt: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#countedAt = clock.monotonic()
  }

  /** Counts one more failure and answers how long to wait. */
  next(id: string): number {
    const failures = this.failures(id)
    this.#failures.set(id, failures + 1)
    const own = Math.min(BASE_MS * 2 ** Math.min(failures, 30), MAX_MS)
    return Math.max(own, this.#reserve())
  }

  failures(id: string): number {
    return this.#failures.get(id) ?? 0
  }

  forget(id: string): void {
    this.#failures.delete(id)
  }

  /** Takes one token, from the future if need be, and answers how far away it is. */
  #reserve(): number {
    const now = this.#clock.monotonic()
    this.#tokens = Math.min(BURST, this.#tokens + ((now - this.#countedAt) * PER_SECOND) / 1000) - 1
    this.#countedAt = now
    return this.#tokens >= 0 ? 0 : (-this.#tokens * 1000) / PER_SECOND
  }
}
