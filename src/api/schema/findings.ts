// What a check of one value found, while it is still being collected.
import type { Fault } from './index.ts'

/** Faults found, each once, and how many checks went well: the best branch of an anyOf is the one that got furthest. */
export class Findings {
  readonly faults: Fault[] = []
  matches = 0

  add(one: Fault): void {
    if (!this.faults.some((known) => known.message === one.message)) this.faults.push(one)
  }

  merge(other: Findings): void {
    for (const one of other.faults) this.add(one)
    this.matches += other.matches
  }
}
