// Chooses slots for what a run in a Job stores. The record names those in use; a run also remembers the ones that it has
// chosen and not recorded yet. A run that lost its lock has a range of its own, so that it never writes over its successor.
import { CaptError } from '#lib'
import { SLOTS } from '../names.ts'
import type { RunRecord, Slotted } from './record.ts'

export function usedSlots(record: RunRecord): ReadonlySet<number> {
  const { bundle, spare = [], plan, backups, pending = [], side = [] } = record
  const refs: readonly (Slotted | undefined)[] = [bundle, ...spare, plan, ...backups, ...pending, ...side]
  return new Set(refs.flatMap((ref) => ref?.slots ?? []))
}

/** For a run that lost its lock, by the record that it announces its copy in. */
export function takeAside(record: RunRecord, parts: number): Slotted {
  return { slots: choose(usedSlots(record), SLOTS.held, SLOTS.aside, parts) }
}

export class RunSlots {
  readonly #record: () => RunRecord
  readonly #chosen = new Set<number>()

  constructor(record: () => RunRecord) {
    this.#record = record
  }

  take(parts: number): Slotted {
    const slots = choose(new Set([...usedSlots(this.#record()), ...this.#chosen]), 0, SLOTS.held, parts)
    for (const slot of slots) this.#chosen.add(slot)
    return { slots }
  }

  /** Of what was deleted again. The record may name them a while longer: until then they are not chosen. */
  release(slots: readonly number[]): void {
    for (const slot of slots) this.#chosen.delete(slot)
  }
}

function choose(used: ReadonlySet<number>, first: number, count: number, parts: number): readonly number[] {
  const free = Array.from({ length: count }, (_, i) => first + i).filter((slot) => !used.has(slot))
  if (free.length >= parts) return free.slice(0, parts)
  throw new CaptError(
    'CAPT_SLOTS_FULL',
    `${parts} Secrets are needed to store this, and ${free.length} of ${count} slots of the workspace are free`,
    { hint: 'make the module or its state smaller, for example by dividing it into two applies' },
  )
}
