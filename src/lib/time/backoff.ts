// Waiting between attempts: exponential backoff with jitter, and a sleep that keeps the process alive.
import { type Clock, sleep } from './clock.ts'

/** Unlike a bare clock timer it keeps the process alive: a caller awaits the outcome. */
export async function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  const hold = setInterval(() => {}, 2 ** 30)
  try {
    await sleep(clock, delayMs, signal)
  } finally {
    clearInterval(hold)
  }
}

interface Backoff {
  /** Milliseconds to wait before the next attempt; doubles each time, with jitter, up to the limit. */
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
