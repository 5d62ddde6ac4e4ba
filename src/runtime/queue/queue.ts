// The work queue of one controller. It merges requests for a key, never processes a key twice at once, serves namespaces
// in round-robin order, and adds keys again after a delay or an exponential backoff.
import { type Key, keyText } from '#api'
import { type Clock, type Metrics, noMetrics } from '#lib'
import { Backoff } from './backoff.ts'
import { Delays } from './delays.ts'
import { queueMetrics } from './metrics.ts'
import { RoundRobin } from './round-robin.ts'

/** When a key is processed again. `never`: when it is added again. */
export type Again = 'never' | 'now' | 'backoff' | { readonly afterMs: number }

export interface Queue {
  /** Drops a delayed request for the same key: the reconcile decides when it is due again. */
  add(key: Key): void
  /** Of several delays the earliest wins. */
  addAfter(key: Key, delayMs: number): void
  /** How often in a row the key ended with `backoff`. */
  failures(key: Key): number
  /** Begins to work, on at most `concurrency` keys at once. What was added before is kept until then. */
  start(concurrency: number, work: (key: Key) => Promise<Again>): void
  /** Takes no further key; resolves with the keys that were still being worked on when `graceMs` had passed. */
  stop(graceMs: number): Promise<readonly Key[]>
  /** Keys ready to be worked on; delayed ones are not counted. */
  readonly depth: number
  readonly active: number
  /** The key that has been worked on for the longest time, and since when (monotonic). */
  longest(): { readonly key: Key; readonly since: number } | undefined
}

interface Request {
  readonly key: Key
  readonly since: number
}

export function createQueue(options: { name: string; clock: Clock; metrics?: Metrics }): Queue {
  const { name, clock } = options
  const dirty = new Map<string, Request>()
  const processing = new Map<string, Request>()
  const ready = new RoundRobin<string>()
  const backoff = new Backoff(clock)
  const delays = new Delays<Key>(clock, add)
  const metrics = queueMetrics(options.metrics ?? noMetrics, name, {
    depth: () => ready.length,
    startedAt: () => [...processing.values()].map((request) => request.since),
    now: () => clock.monotonic(),
  })
  let work: ((key: Key) => Promise<Again>) | undefined
  let concurrency = 0
  let stopped = false
  let isPumping = false
  let onIdle: (() => void) | undefined

  function add(key: Key): void {
    const id = keyText(key)
    if (stopped) return
    delays.drop(id)
    if (dirty.has(id)) return
    dirty.set(id, { key, since: clock.monotonic() })
    metrics.added()
    if (processing.has(id)) return
    ready.push(key.namespace ?? '', id)
    pumpSoon()
  }

  /** In a microtask: several changes that arrive together cause one reconcile of a key. */
  function pumpSoon(): void {
    if (isPumping) return
    isPumping = true
    queueMicrotask(() => {
      isPumping = false
      pump()
    })
  }

  function addAfter(key: Key, delayMs: number): void {
    if (delayMs <= 0) {
      add(key)
      return
    }
    const id = keyText(key)
    if (stopped || (dirty.has(id) && !processing.has(id))) return
    delays.add(id, delayMs, key)
  }

  function pump(): void {
    while (work && !stopped && processing.size < concurrency) {
      const id = ready.shift()
      if (id === undefined) return
      const { key, since } = dirty.get(id)!
      const now = clock.monotonic()
      dirty.delete(id)
      delays.drop(id)
      processing.set(id, { key, since: now })
      metrics.taken(now - since)
      void finish(id, key, work)
    }
  }

  async function finish(id: string, key: Key, process: (key: Key) => Promise<Again>): Promise<void> {
    // A reconcile reports its own errors; what it throws only causes a backoff.
    let again: Again = 'backoff'
    try {
      again = await process(key)
    } catch {}
    metrics.worked(clock.monotonic() - processing.get(id)!.since)
    processing.delete(id)
    if (dirty.has(id)) ready.push(key.namespace ?? '', id)
    requeue(id, key, again)
    pump()
    if (processing.size === 0) onIdle?.()
  }

  function requeue(id: string, key: Key, again: Again): void {
    if (again === 'backoff') {
      metrics.retried()
      addAfter(key, backoff.next(id))
      return
    }
    backoff.forget(id)
    if (again === 'now') add(key)
    else if (again !== 'never') addAfter(key, again.afterMs)
  }

  return {
    add,
    addAfter,
    failures: (key) => backoff.failures(keyText(key)),
    start(limit, process) {
      concurrency = limit
      work = process
      pump()
    },
    stop(graceMs) {
      stopped = true
      delays.clear()
      return new Promise((resolve) => {
        const leave = () => {
          timer.cancel()
          resolve([...processing.values()].map((request) => request.key))
        }
        const timer = clock.after(graceMs, leave)
        onIdle = leave
        if (processing.size === 0) leave()
      })
    },
    get depth() {
      return ready.length
    },
    get active() {
      return processing.size
    },
    // Entries are in the order in which work on them began.
    longest: () => processing.values().next().value,
  }
}
