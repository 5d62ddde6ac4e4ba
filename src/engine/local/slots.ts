// How many runs at once, and who is next: namespaces take turns, so that one with a hundred clusters does not keep the
// others waiting.
export interface Slots {
  /** Runs `work` when there is room; returns how to leave the line, or undefined when it began at once. */
  enter(line: string, begin: () => void): (() => void) | undefined
  /** Takes a place when there is one and nobody waits for it. */
  take(): boolean
  /** Counts a run that is already under way, whether or not there is room. */
  occupy(): void
  leave(): void
  readonly waiting: number
}

export function createSlots(limit: number): Slots {
  let taken = 0
  const lines = new Map<string, (() => void)[]>()

  const next = () => {
    while (taken < limit) {
      const [line, queue] = lines.entries().next().value ?? []
      if (line === undefined || queue === undefined) return
      // To the back: the next turn is another namespace's.
      lines.delete(line)
      const begin = queue.shift()
      if (queue.length > 0) lines.set(line, queue)
      if (!begin) continue
      taken++
      begin()
    }
  }

  return {
    enter(line, begin) {
      if (this.take()) {
        begin()
        return undefined
      }
      const queue = lines.get(line) ?? []
      queue.push(begin)
      lines.set(line, queue)
      return () => {
        const at = queue.indexOf(begin)
        if (at >= 0) queue.splice(at, 1)
        if (queue.length === 0) lines.delete(line)
      }
    },
    take() {
      if (taken >= limit) return false
      taken++
      return true
    },
    occupy() {
      taken++
    },
    leave() {
      taken--
      next()
    },
    get waiting() {
      return [...lines.values()].reduce((sum, queue) => sum + queue.length, 0)
    },
  }
}
