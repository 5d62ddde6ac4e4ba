// Cache of the ConfigMaps and Secrets of an apply: the reconciles around a run read the same ones within seconds. An
// entry serves one request (uid, generation, retry) and expires; a missing object is never cached.
import { type AnyObject, keyText, RETRY_ANNOTATION } from '#api'
import type { Objects } from '#kube'
import type { Clock } from '#lib'

export type Reader = Pick<Objects, 'get'>

/** Longer than a manager with a hundred concurrent runs takes from the first reconcile to the last, on a busy machine too. */
export const LIFETIME_MS = 30_000

interface Entry {
  readonly untilMs: number
  readonly reads: Map<string, Promise<unknown>>
}

/** `after`: the failed run that this reconcile follows, if any; what it read may have been the cause. */
export type RecentSources = (objects: Reader, clock: Clock, apply: AnyObject, after?: string) => Reader

export function recentSources(lifetimeMs = LIFETIME_MS): RecentSources {
  const entries = new Map<string, Entry>()
  return (objects, clock, { metadata }, after) => {
    const nowMs = clock.monotonic()
    for (const [request, { untilMs }] of entries) {
      if (untilMs > nowMs) break
      entries.delete(request)
    }
    const { uid, generation, annotations } = metadata
    const request = JSON.stringify([uid, generation, annotations?.[RETRY_ANNOTATION], after])
    const { reads } = entries.get(request) ?? { reads: new Map<string, Promise<unknown>>() }
    if (!entries.has(request)) entries.set(request, { untilMs: nowMs + lifetimeMs, reads })
    return {
      get(kind, key) {
        const id = `${kind.kind} ${keyText(key)}`
        const known = reads.get(id)
        if (known) return known as never
        const reading = objects.get(kind, key)
        reads.set(id, reading)
        const drop = () => void reads.delete(id)
        reading.then((found) => found ?? drop(), drop)
        return reading as never
      },
    }
  }
}
