// Notices an object that acts again and again without getting anywhere, so that it is slowed down instead of
// hammering the API server.
import { sha256 } from '#lib'

/** Acting this often on the very same observation is no progress. */
const SAME_LIMIT = 5
/** A row of so few steps is everyday; what they saw is not worth a hash. */
const EVERYDAY_STEPS = 2
/** Nobody needs this many steps in a row; an observation with a clock in it never looks the same twice. */
const STEP_LIMIT = 50

const UNSEEN = 'unseen'

export class HotLoopGuard {
  readonly #seen = new Map<string, { hash: string; same: number; steps: number }>()

  /** True when the object should slow down. */
  acted(id: string, observation: unknown): boolean {
    const known = this.#seen.get(id)
    const steps = (known?.steps ?? 0) + 1
    const hash = steps > EVERYDAY_STEPS ? fingerprint(observation) : UNSEEN
    const same = known?.hash === hash || known?.hash === UNSEEN ? known.same + 1 : 1
    this.#seen.set(id, { hash, same, steps })
    return same > SAME_LIMIT || steps > STEP_LIMIT
  }

  settled(id: string): void {
    this.#seen.delete(id)
  }
}

function fingerprint(observation: unknown): string {
  try {
    // As it stands: the same code reads the same objects in the same order.
    return sha256(JSON.stringify(observation))
  } catch {
    // Cycles and BigInts have no JSON; of such an observation only the steps count.
    return ''
  }
}
