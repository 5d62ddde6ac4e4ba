// Notices an object that acts again and again without getting anywhere, so that it is slowed down instead of
// hammering the API server.
import { hashOf } from '#lib'

/** Acting this often on the very same observation is no progress. */
const SAME_LIMIT = 5
/** Nobody needs this many steps in a row; an observation with a clock in it never looks the same twice. */
const STEP_LIMIT = 50

export class HotLoopGuard {
  readonly #seen = new Map<string, { hash: string; same: number; steps: number }>()

  /** True when the object should slow down. */
  acted(id: string, observation: unknown): boolean {
    const hash = fingerprint(observation)
    const known = this.#seen.get(id)
    const same = known?.hash === hash ? known.same + 1 : 1
    const steps = (known?.steps ?? 0) + 1
    this.#seen.set(id, { hash, same, steps })
    return same > SAME_LIMIT || steps > STEP_LIMIT
  }

  settled(id: string): void {
    this.#seen.delete(id)
  }
}

function fingerprint(observation: unknown): string {
  try {
    return hashOf(observation)
  } catch {
    // Cycles and BigInts have no JSON; such an observation is judged by its steps alone.
    return ''
  }
}
