// A mutex for asynchronous work: one at a time, in the order of asking.
export interface Mutex {
  /** Rejects with the signal's reason when it is aborted before the work begins. */
  run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>
}

export function createMutex(): Mutex {
  let isLocked = false
  const waiting: (() => void)[] = []

  function lock(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    if (!isLocked) {
      isLocked = true
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        waiting.splice(waiting.indexOf(admit), 1)
        reject(signal?.reason)
      }
      const admit = () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      waiting.push(admit)
    })
  }

  return {
    async run(work, signal) {
      await lock(signal)
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else isLocked = false
      }
    },
  }
}
