// Keeps the store of one kind up to date: list, watch, resume; list again when the history is gone; back off with jitter
// when the server fails. It never gives up and never throws.
import type { KindRef } from '#api'
import { type Clock, createBackoff, type Mutex, messageOf, pause } from '#lib'
import type { Client } from '../client/client.ts'
import { isKubeError } from '../port.ts'
import type { Project } from './projection.ts'
import type { Store } from './store.ts'
import { readWatch, type WatchEnd } from './watch-stream.ts'

export interface InformerWarning {
  readonly kind: KindRef
  readonly what: 'list-failed' | 'watch-failed' | 'relist' | 'malformed' | 'handler-failed'
  readonly message: string
  readonly error?: unknown
}

export interface InformerSettings {
  readonly client: Client
  readonly clock: Clock
  readonly random: () => number
  readonly listMutex: Mutex
  readonly silenceMs: number
  readonly watchSeconds: readonly [least: number, most: number]
  readonly backoffMs: readonly [base: number, most: number]
  readonly onWarning: (warning: InformerWarning) => void
}

export interface Informer {
  readonly kind: KindRef
  readonly store: Store
  readonly counts: { lists: number; watches: number; malformed: number }
  /** Runs until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>
}

// A watch that keeps failing at the same version although the server answers does not recover by resuming.
const MAX_FRUITLESS_RESUMES = 5
// A connection that lasted this long did not end because of an overloaded server.
const HEALTHY_MS = 10_000

export function createInformer(
  kind: KindRef,
  scope: {
    readonly namespace?: string | undefined
    readonly labelSelector?: string | undefined
    readonly metadataOnly?: boolean | undefined
  },
  store: Store,
  project: Project,
  settings: InformerSettings,
  onSynced: () => void,
): Informer {
  const { client, clock, random, listMutex, onWarning } = settings
  const [baseMs, maxMs] = settings.backoffMs
  const backoff = createBackoff({ baseMs, maxMs, random })
  const counts = { lists: 0, watches: 0, malformed: 0 }

  async function listOnce(signal: AbortSignal): Promise<void> {
    counts.lists++
    const listing = store.beginList()
    try {
      let token: string | undefined
      let version: string | undefined
      do {
        const query = { ...scope, continue: token, signal }
        const end = await client.page(kind, query, (item) => listing.add(project(item)))
        version ??= end.resourceVersion
        token = end.continue
      } while (token !== undefined)
      listing.end(version)
    } catch (error) {
      listing.abandon()
      throw error
    }
  }

  async function watchOnce(signal: AbortSignal): Promise<WatchEnd> {
    counts.watches++
    const [least, most] = settings.watchSeconds
    const timeoutSeconds = Math.round(least + random() * (most - least))
    try {
      const response = await client.watch(kind, {
        ...scope,
        resourceVersion: store.progress ?? '',
        timeoutSeconds,
        signal,
      })
      const stop = () => response.destroy()
      signal.addEventListener('abort', stop, { once: true })
      const onEvent = () => backoff.reset()
      const end = await readWatch(response, { store, project, clock, silenceMs: settings.silenceMs, onEvent })
      signal.removeEventListener('abort', stop)
      return end
    } catch (error) {
      if (isKubeError(error, 'Expired')) return { is: 'lost', why: 'expired' }
      if (isKubeError(error, 'Invalid', 'KindNotServed')) return { is: 'lost', why: messageOf(error) }
      const answered = isKubeError(error) && error.status !== undefined
      return { is: 'broken', why: messageOf(error), answered, retryAfterSeconds: retryAfterOf(error) }
    }
  }

  async function listUntilDone(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await listMutex.run(() => listOnce(signal), signal)
        return
      } catch (error) {
        signal.throwIfAborted()
        onWarning({ kind, what: 'list-failed', message: messageOf(error), error })
        await pause(clock, backoff.next(retryAfterOf(error) * 1000), signal)
      }
    }
  }

  /** Returns when a new list is needed. */
  async function watchUntilLost(signal: AbortSignal): Promise<void> {
    let fruitless = 0
    for (;;) {
      const from = store.progress
      const startedAt = clock.monotonic()
      const end = await watchOnce(signal)
      signal.throwIfAborted()
      const isHealthy = clock.monotonic() - startedAt >= HEALTHY_MS
      if (isHealthy) backoff.reset()
      if (end.is === 'lost') {
        if (end.malformed) counts.malformed++
        onWarning({ kind, what: end.malformed ? 'malformed' : 'relist', message: end.why })
        // A server that ends every watch at once must not be listed in a tight loop.
        if (!isHealthy) await pause(clock, backoff.next(), signal)
        return
      }
      if (end.is === 'closed' && isHealthy) continue
      if (end.is === 'broken') onWarning({ kind, what: 'watch-failed', message: end.why })
      fruitless = end.is === 'broken' && end.answered && store.progress === from ? fruitless + 1 : 0
      const atLeastSeconds = end.is === 'broken' ? (end.retryAfterSeconds ?? 0) : 0
      await pause(clock, backoff.next(atLeastSeconds * 1000), signal)
      if (fruitless >= MAX_FRUITLESS_RESUMES) return
    }
  }

  return {
    kind,
    store,
    counts,
    async run(signal) {
      while (!signal.aborted) {
        try {
          await listUntilDone(signal)
          onSynced()
          await watchUntilLost(signal)
        } catch (error) {
          if (signal.aborted) return
          // A bug of ours, for example a projection that throws: the informer goes on.
          onWarning({ kind, what: 'list-failed', message: messageOf(error), error })
          await pause(clock, backoff.next(), signal).catch(() => {})
        }
      }
    },
  }
}

function retryAfterOf(error: unknown): number {
  return isKubeError(error) ? (error.retryAfterSeconds ?? 0) : 0
}
