// Objects that outlast an API server that is away: a failed call is retried with backoff until a deadline.
import { isKubeError, type Objects } from '#kube'
import { type Clock, type Log, messageOf, pause } from '#lib'

const FIRST_MS = 250
const MOST_MS = 5_000

interface RetryPolicy {
  readonly clock: Clock
  readonly log: Log
  /** Monotonic milliseconds until which a call that fails now is repeated. */
  until(): number
  /** True when no answer can come any more. */
  isHopeless?(): boolean
}

export function retryingObjects(objects: Objects, policy: RetryPolicy): Objects {
  const { clock, log } = policy
  async function retry<T>(what: string, work: () => Promise<T>): Promise<T> {
    let until: number | undefined
    for (let wait = FIRST_MS; ; wait = Math.min(MOST_MS, wait * 2)) {
      try {
        return await work()
      } catch (error) {
        until ??= policy.until()
        if (!isTransient(error) || clock.monotonic() + wait > until || policy.isHopeless?.()) throw error
        log.warn('API server does not answer, trying again', { what, error: messageOf(error) })
        await pause(clock, wait)
      }
    }
  }
  return {
    get: (kind, key) => retry(`get ${kind.kind}`, () => objects.get(kind, key)),
    list: (kind, options) => objects.list(kind, options),
    create: (kind, object, options) => retry(`create ${kind.kind}`, () => objects.create(kind, object, options)),
    replace: (kind, object, options) => retry(`replace ${kind.kind}`, () => objects.replace(kind, object, options)),
    patch: (kind, key, patch, options) => retry(`patch ${kind.kind}`, () => objects.patch(kind, key, patch, options)),
    apply: (kind, object, options) => retry(`apply ${kind.kind}`, () => objects.apply(kind, object, options)),
    delete: (kind, key, options) => retry(`delete ${kind.kind}`, () => objects.delete(kind, key, options)),
  }
}

/** Passes with time: the server is away or overloaded. Wrong credentials may be renewed as well. */
export function isTransient(error: unknown): boolean {
  return isKubeError(error, 'Unreachable', 'ServerError', 'TooManyRequests', 'Expired', 'BadAnswer', 'Unauthorized')
}
