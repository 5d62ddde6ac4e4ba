// Detects an object that acts again and again without progress, so that it backs off instead of overloading the API server.
import { sha256 } from '#lib'

/** Acting this often on the very same observation is no progress. */
const SAME_LIMIT = 5
/** Up to this many steps are normal: their observations are not hashed. */
const UNHASHED_STEPS = 2
/** No object needs this many steps in a row; an observation with a time in it never has the same hash twice. */
const STEP_LIMIT = 50

const UNHASHED = 'unhashed'

export class HotLoopGuard {
  readonly #progress = new Map<string, { hash: string; same: number; steps: number }>()

  /** True when the object should slow down. */
  acted(id: string, observation: unknown): boolean {
    const known = this.#progress.get(id)
    const steps = (known?.steps ?? 0) + 1
    const hash = steps > UNHASHED_STEPS ? fingerprint(observation) : UNHASHED
    const same = known?.hash === hash || known?.hash === UNHASHED ? known.same + 1 : 1
    this.#progress.set(id, { hash, same, steps })
    return same > SAME_LIMIT || steps > STEP_LIMIT
  }

  settled(id: string): void {
    this.#progress.delete(id)
  }
}

function fingerprint(observation: unknown): string {
  try {
    // In insertion order: the same code reads the same objects in the same order.
    return sha256(JSON.stringify(observation))
  } catch {
    // Cycles and BigInts have no JSON; of such an observation only the steps count.
    return ''
  }
}
