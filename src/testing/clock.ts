// A clock that moves only when a test says so.
import type { Clock } from '#lib'

export interface ManualClock extends Clock {
  /** Moves time forward, firing every timer that falls due on the way, in order. */
  advance(ms: number): Promise<void>
  readonly pending: number
}

export function manualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let elapsed = 0
  let serial = 0
  const timers = new Map<number, { due: number; callback: () => void }>()
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve))
  return {
    now: () => startMs + elapsed,
    monotonic: () => elapsed,
    after(delayMs, callback) {
      const id = serial++
      timers.set(id, { due: elapsed + Math.max(0, delayMs), callback })
      return { cancel: () => void timers.delete(id) }
    },
    get pending() {
      return timers.size
    },
    async advance(ms) {
      const until = elapsed + ms
      await settle()
      for (;;) {
        const [next] = [...timers]
          .filter(([, timer]) => timer.due <= until)
          .sort(([i, a], [j, b]) => a.due - b.due || i - j)
        if (!next) break
        timers.delete(next[0])
        elapsed = next[1].due
        next[1].callback()
        await settle()
      }
      elapsed = until
      await settle()
    },
  }
}
