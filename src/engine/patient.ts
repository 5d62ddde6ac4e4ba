// Objects that outlast an API server that is away: a run goes on, and what it has to say is said when somebody listens.
import { isKubeError, type Objects } from '#kube'
import { type Clock, type Log, messageOf } from '#lib'

const FIRST_MS = 250
const MOST_MS = 5_000

export interface Patience {
  readonly clock: Clock
  readonly log: Log
  /** Monotonic milliseconds until which a call that fails now is repeated. */
  until(): number
  /** True when no answer can come any more. */
  isHopeless?(): boolean
}

export function patientObjects(objects: Objects, patience: Patience): Objects {
  const { clock, log } = patience
  async function insist<T>(what: string, work: () => Promise<T>): Promise<T> {
    let until: number | undefined
    for (let wait = FIRST_MS; ; wait = Math.min(MOST_MS, wait * 2)) {
      try {
        return await work()
      } catch (error) {
        until ??= patience.until()
        if (!isPassing(error) || clock.monotonic() + wait > until || patience.isHopeless?.()) throw error
        log.warn('API server does not answer, trying again', { what, error: messageOf(error) })
        await pause(clock, wait)
      }
    }
  }
  return {
    get: (kind, key) => insist(`get ${kind.kind}`, () => objects.get(kind, key)),
    list: (kind, options) => objects.list(kind, options),
    create: (kind, object, options) => insist(`create ${kind.kind}`, () => objects.create(kind, object, options)),
    replace: (kind, object, options) => insist(`replace ${kind.kind}`, () => objects.replace(kind, object, options)),
    patch: (kind, key, patch, options) => insist(`patch ${kind.kind}`, () => objects.patch(kind, key, patch, options)),
    apply: (kind, object, options) => insist(`apply ${kind.kind}`, () => objects.apply(kind, object, options)),
    delete: (kind, key, options) => insist(`delete ${kind.kind}`, () => objects.delete(kind, key, options)),
  }
}

/** Passes with time: nobody is there, or somebody is overwhelmed. Wrong credentials may be renewed as well. */
export function isPassing(error: unknown): boolean {
  return isKubeError(error, 'Unreachable', 'ServerError', 'TooManyRequests', 'Expired', 'BadAnswer', 'Unauthorized')
}

/** Waits, and keeps the process alive meanwhile. */
export function pause(clock: Clock, ms: number): Promise<void> {
  const hold = setInterval(() => undefined, 2 ** 30)
  return new Promise((resolve) => {
    clock.after(ms, () => {
      clearInterval(hold)
      resolve()
    })
  })
}
