// Time as a port. Decisions get time as data; code that waits takes a Clock, so that tests control time.
export interface Timer {
  cancel(): void
}

export interface Clock {
  /** Wall clock, milliseconds since the epoch. For timestamps people read. */
  now(): number
  /** Monotonic milliseconds. For durations, leases and deadlines. */
  monotonic(): number
  /** Calls back once after the delay; never keeps the process alive by itself. */
  after(delayMs: number, callback: () => void): Timer
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    const handle = setTimeout(callback, Math.min(Math.max(0, delayMs), 2 ** 31 - 1))
    handle.unref()
    return { cancel: () => clearTimeout(handle) }
  },
}

/** Resolves after the delay, or rejects with the signal's reason as soon as it is aborted. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      timer.cancel()
      reject(signal?.reason)
    }
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** RFC 3339 with second precision, as Kubernetes writes metadata timestamps. */
export function toTimestamp(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`
}
