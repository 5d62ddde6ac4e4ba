// The turns around a run follow each other within a moment and ask for the same ConfigMaps and Secrets. What was read is
// used again for a few seconds, for the same request only; what was missing is always looked for.
import { type AnyObject, keyText, RETRY_ANNOTATION } from '#api'
import type { Objects } from '#kube'
import type { Clock } from '#lib'

export type Reader = Pick<Objects, 'get'>

/** Longer than a manager with a hundred runs at once takes from the first turn to the last. */
export const MOMENT_MS = 20_000

interface Moment {
  readonly untilMs: number
  readonly reads: Map<string, Promise<unknown>>
}

/** `after`: the failed run that this turn follows, if any; what it has read may be what was wrong. */
export type RecentSources = (objects: Reader, clock: Clock, apply: AnyObject, after?: string) => Reader

export function recentSources(momentMs = MOMENT_MS): RecentSources {
  const moments = new Map<string, Moment>()
  return (objects, clock, { metadata }, after) => {
    const nowMs = clock.monotonic()
    for (const [request, { untilMs }] of moments) {
      if (untilMs > nowMs) break
      moments.delete(request)
    }
    const { uid, generation, annotations } = metadata
    const request = JSON.stringify([uid, generation, annotations?.[RETRY_ANNOTATION], after])
    const { reads } = moments.get(request) ?? { reads: new Map<string, Promise<unknown>>() }
    if (!moments.has(request)) moments.set(request, { untilMs: nowMs + momentMs, reads })
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
