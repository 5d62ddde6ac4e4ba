// Things that become due later, one timer for all of them. For each id the earliest time wins.
import type { Clock, Timer } from '#lib'

interface Entry<T> {
  readonly id: string
  readonly due: number
  readonly item: T
}

export class Delays<T> {
  readonly #clock: Clock
  readonly #onDue: (item: T) => void
  readonly #current = new Map<string, Entry<T>>()
  /** A binary heap by due time. Entries that were replaced or dropped stay until they surface or are swept. */
  #heap: Entry<T>[] = []
  #timer: Timer | undefined
  #timerDue = Number.POSITIVE_INFINITY

  constructor(clock: Clock, onDue: (item: T) => void) {
    this.#clock = clock
    this.#onDue = onDue
  }

  get size(): number {
    return this.#current.size
  }

  add(id: string, delayMs: number, item: T): void {
    const due = this.#clock.monotonic() + delayMs
    const known = this.#current.get(id)
    if (known && known.due <= due) return
    const entry = { id, due, item }
    this.#current.set(id, entry)
    this.#push(entry)
    if (this.#heap.length > 2 * this.#current.size + 64) this.#sweep()
    this.#arm()
  }

  drop(id: string): void {
    this.#current.delete(id)
  }

  clear(): void {
    this.#current.clear()
    this.#heap = []
    this.#timer?.cancel()
    this.#timer = undefined
    this.#timerDue = Number.POSITIVE_INFINITY
  }

  #arm(): void {
    const next = this.#heap[0]
    if (!next || next.due >= this.#timerDue) return
    this.#timer?.cancel()
    this.#timerDue = next.due
    this.#timer = this.#clock.after(Math.ceil(next.due - this.#clock.monotonic()), () => this.#fire())
  }

  #fire(): void {
    this.#timerDue = Number.POSITIVE_INFINITY
    const now = this.#clock.monotonic()
    for (let top = this.#heap[0]; top && top.due <= now; top = this.#heap[0]) {
      this.#pop()
      if (this.#current.get(top.id) !== top) continue
      this.#current.delete(top.id)
      this.#onDue(top.item)
    }
    this.#arm()
  }

  #sweep(): void {
    this.#heap = []
    for (const entry of this.#current.values()) this.#push(entry)
  }

  #push(entry: Entry<T>): void {
    const heap = this.#heap
    let at = heap.push(entry) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (heap[parent]!.due <= entry.due) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = entry
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && heap[child + 1]!.due < heap[child]!.due) child++
      if (heap[child]!.due >= last.due) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}
