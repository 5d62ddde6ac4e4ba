// A clock that runs like the machine's and can be pushed forward: for stories in which real programs take part and ten
// minutes have to pass.
import type { Clock } from '#lib'

export interface PushedClock extends Clock {
  /** Lets this much time pass, in steps small enough for everybody to keep up. */
  push(ms: number): Promise<void>
}

const STEP_MS = 5_000
/** Real time for sockets between two steps. */
const BREATH_MS = 15

export function pushedClock(): PushedClock {
  let offset = 0
  const timers = new Set<{ readonly dueMs: number; fire(): void }>()
  const monotonic = () => performance.now() + offset

  return {
    now: () => Date.now() + offset,
    monotonic,
    after(delayMs, callback) {
      const dueMs = monotonic() + Math.max(0, delayMs)
      const end = () => {
        clearTimeout(handle)
        timers.delete(timer)
      }
      const timer = {
        dueMs,
        fire: () => {
          end()
          callback()
        },
      }
      const handle = setTimeout(timer.fire, Math.min(Math.max(0, delayMs), 2 ** 31 - 1))
      handle.unref()
      timers.add(timer)
      return { cancel: end }
    },
    async push(ms) {
      for (let left = ms; left > 0; left -= STEP_MS) {
        offset += Math.min(left, STEP_MS)
        const due = [...timers].filter(({ dueMs }) => dueMs <= monotonic()).sort((a, b) => a.dueMs - b.dueMs)
        for (const timer of due) if (timers.has(timer)) timer.fire()
        await new Promise((resolve) => setTimeout(resolve, BREATH_MS))
      }
    },
  }
}
