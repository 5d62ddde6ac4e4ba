// Waiting between tries. Unlike a bare clock timer it keeps the process alive: somebody awaits the outcome.
import { type Clock, sleep } from '#lib'

export async function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  const hold = setInterval(() => {}, 2 ** 30)
  try {
    await sleep(clock, delayMs, signal)
  } finally {
    clearInterval(hold)
  }
}

export interface Backoff {
  /** Milliseconds to wait before the next try; doubles each time, with jitter, up to the limit. */
  next(atLeastMs?: number): number
  reset(): void
  readonly failures: number
}

export function createBackoff(options: { baseMs: number; maxMs: number; random: () => number }): Backoff {
  let failures = 0
  return {
    next(atLeastMs = 0) {
      const full = Math.min(options.maxMs, options.baseMs * 2 ** Math.min(failures, 20))
      failures++
      // Between half and all of it: clients that failed together do not come back together.
      return Math.max(atLeastMs, full * (0.5 + options.random() / 2))
    },
    reset() {
      failures = 0
    },
    get failures() {
      return failures
    },
  }
}
