// Ready keys in fair order: namespaces take turns, first come first served within each. One namespace with a
// thousand keys delays another by at most one key per round.

/** First in, first out, without moving what is behind. */
class Line<T> {
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

export class FairLine<T> {
  readonly #groups = new Map<string, Line<T>>()
  readonly #turns = new Line<string>()
  #length = 0

  get length(): number {
    return this.#length
  }

  push(group: string, item: T): void {
    let line = this.#groups.get(group)
    if (!line) {
      line = new Line()
      this.#groups.set(group, line)
      this.#turns.push(group)
    }
    line.push(item)
    this.#length++
  }

  shift(): T | undefined {
    const group = this.#turns.shift()
    if (group === undefined) return undefined
    const line = this.#groups.get(group)!
    const item = line.shift()
    this.#length--
    if (line.length > 0) this.#turns.push(group)
    else this.#groups.delete(group)
    return item
  }
}
