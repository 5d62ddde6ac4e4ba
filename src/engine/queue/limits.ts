// How many runs may be in progress at once, in total and for those that share a namespace or a cloud identity.
import { availableParallelism } from 'node:os'

export interface Limits {
  /** Runs that hold a slot. */
  readonly total: number
  /** Further runs that have lasted more than a minute: they wait for the cloud, and have given their slot to others. */
  readonly overtime: number
  readonly perNamespace: number
  /** Runs with the same credentials: a cloud limits the calls of an account. */
  readonly perIdentity: number
  /** Drift checks. */
  readonly drift: number
}

/** On this machine the cores are scarce; with a Job for each run the number of pods is. */
export function defaultLimits(engine: 'local' | 'job', total?: number): Limits {
  const shared = { perNamespace: 10, perIdentity: 5, drift: 2 }
  if (engine === 'job') return { ...shared, total: total ?? 20, overtime: 0 }
  const slots = total ?? availableParallelism()
  return { ...shared, total: slots, overtime: slots }
}
