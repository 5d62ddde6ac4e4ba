// One at a time, in order of asking. Lists share one turn per process: ten kinds re-listed at once after a server
// restart are what would break the memory limit.
export interface Turn {
  take<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>
}

export function createTurn(): Turn {
  let busy = false
  const waiting: (() => void)[] = []

  function enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    if (!busy) {
      busy = true
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
    async take(work, signal) {
      await enter(signal)
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else busy = false
      }
    },
  }
}

export const processWideTurn: Turn = createTurn()
