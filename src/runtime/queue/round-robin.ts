// Round-robin by namespace, first in first out within each: a namespace with a thousand keys delays another by at most one
// key per round.

/** First in, first out, without moving what is behind. */
class Fifo<T> {
  #items: T[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: T): void {
    this.#items.push(item)
  }

  shift(): T | undefined {
    const item = this.#items[this.#head]
    if (this.length === 0) return undefined
    this.#head++
    if (this.#head > 64 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}

export class RoundRobin<T> {
  readonly #groups = new Map<string, Fifo<T>>()
  readonly #order = new Fifo<string>()
  #length = 0

  get length(): number {
    return this.#length
  }

  push(group: string, item: T): void {
    let fifo = this.#groups.get(group)
    if (!fifo) {
      fifo = new Fifo()
      this.#groups.set(group, fifo)
      this.#order.push(group)
    }
    fifo.push(item)
    this.#length++
  }

  shift(): T | undefined {
    const group = this.#order.shift()
    if (group === undefined) return undefined
    const fifo = this.#groups.get(group)!
    const item = fifo.shift()
    this.#length--
    if (fifo.length > 0) this.#order.push(group)
    else this.#groups.delete(group)
    return item
  }
}
