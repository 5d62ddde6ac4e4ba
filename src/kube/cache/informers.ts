// All informers of one connection behind one cache. Registering is cheap; `start` opens one watch per kind.
import { type AnyObject, apiVersionOf, groupKindOf, type Key, type KindRef } from '#api'
import { type Clock, copyOf, createMutex, type Mutex, messageOf, systemClock } from '#lib'
import type { Client } from '../client/client.ts'
import { matchesLabels } from '../labels.ts'
import type { Change, InformerOptions, Informers } from '../port.ts'
import { createInformer, type Informer, type InformerSettings, type InformerWarning } from './informer.ts'
import { createProjection, type Project } from './projection.ts'
import { createStore, type Store } from './store.ts'

export interface InformersOptions {
  readonly clock?: Clock
  readonly random?: () => number
  /** Held during a list; shared by all informers of a process unless a test passes its own. */
  readonly listMutex?: Mutex
  /** A watch without an event for this long is dead. Servers send a bookmark about once a minute. */
  readonly silenceSeconds?: number
  readonly watchSeconds?: readonly [least: number, most: number]
  /** The maximum is also how long a leader may read outdated objects after an outage of the API server. */
  readonly backoffMs?: readonly [base: number, most: number]
  readonly onWarning?: (warning: InformerWarning) => void
}

interface InformerCounts {
  readonly kind: KindRef
  readonly objects: number
  readonly lists: number
  readonly watches: number
  readonly malformed: number
  readonly synced: boolean
}

/** Informers that are notified of writes made through the same connection. */
export interface WriteThroughInformers extends Informers {
  /** The answer to a write; `undefined` when the object is gone. */
  written(kind: KindRef, key: Key, object: AnyObject | undefined, goneUid?: string): void
  counts(): readonly InformerCounts[]
}

interface Registered {
  readonly kind: KindRef
  readonly store: Store
  readonly handlers: ((change: Change) => void)[]
  namespace: string | undefined
  labelSelector: string | undefined
  metadataOnly: boolean | undefined
  project: InformerOptions['project']
  /** Set when started. */
  informer?: Informer
  projection?: Project
  synced: boolean
}

/** Ten kinds listed at once, after a restart of the API server, would exceed the memory limit. */
const processListMutex: Mutex = createMutex()

export function createInformers(client: Client, options: InformersOptions = {}): WriteThroughInformers {
  const onWarning = options.onWarning ?? (() => {})
  const settings: InformerSettings = {
    client,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    listMutex: options.listMutex ?? processListMutex,
    silenceMs: (options.silenceSeconds ?? 90) * 1000,
    watchSeconds: options.watchSeconds ?? [300, 600],
    backoffMs: options.backoffMs ?? [500, 10_000],
    onWarning,
  }
  const registered = new Map<string, Registered>()
  const stopping = new AbortController()
  let running: Promise<unknown> | undefined
  const allSynced = Promise.withResolvers<void>()

  function find(kind: KindRef): Registered {
    const entry = registered.get(groupKindOf(kind))
    if (entry) return entry
    throw new Error(`no informer for ${groupKindOf(kind)}: register the kind before start`)
  }

  function addKind(kind: KindRef): Registered {
    const handlers: Registered['handlers'] = []
    const store = createStore((change) => {
      for (const handler of handlers) {
        try {
          handler(change)
        } catch (error) {
          onWarning({ kind, what: 'handler-failed', message: messageOf(error), error })
        }
      }
    })
    const unset = {
      namespace: undefined,
      labelSelector: undefined,
      metadataOnly: undefined,
      project: undefined,
    }
    return { kind, store, handlers, ...unset, synced: false }
  }

  function markSynced(entry: Registered): void {
    entry.synced = true
    if ([...registered.values()].every(({ synced }) => synced)) allSynced.resolve()
  }

  function startOne(entry: Registered): Promise<void> {
    const { kind, store, namespace, labelSelector, metadataOnly } = entry
    const projection = createProjection(entry.project)
    const informer = createInformer(kind, { namespace, labelSelector, metadataOnly }, store, projection, settings, () =>
      markSynced(entry),
    )
    entry.projection = projection
    entry.informer = informer
    return informer.run(stopping.signal)
  }

  return {
    get: (kind, key) => find(kind).store.get(key) as never,
    list: (kind, query) => find(kind).store.list(query) as never,
    keys: (kind, query) => find(kind).store.keys(query),
    summaries: (kind, summarize, query) => find(kind).store.summaries(summarize, query),
    register(kind, informerOptions = {}) {
      if (running) throw new Error(`${groupKindOf(kind)} was registered after the informers had started`)
      const id = groupKindOf(kind)
      const isNew = !registered.has(id)
      const entry = registered.get(id) ?? addKind(kind)
      merge(entry, informerOptions, isNew)
      registered.set(id, entry)
    },
    onChange(kind, handler) {
      const entry = find(kind)
      entry.handlers.push(handler)
      for (const object of entry.store.list()) handler({ type: 'added', object })
    },
    start() {
      if (running) return
      if (registered.size === 0) allSynced.resolve()
      running = Promise.all([...registered.values()].map(startOne))
    },
    synced: (signal) => unlessAborted(allSynced.promise, signal),
    async stop() {
      stopping.abort()
      await running
    },
    written(kind, key, object, goneUid) {
      const entry = registered.get(groupKindOf(kind))
      if (!entry?.projection) return
      if (!object) return entry.store.gone(key, goneUid)
      if (object.kind !== kind.kind || object.apiVersion !== apiVersionOf(entry.kind)) return
      if (entry.namespace !== undefined && object.metadata.namespace !== entry.namespace) return
      if (!matchesLabels(object.metadata.labels, entry.labelSelector)) return
      // A copy: the caller owns its object. Without managedFields, which the projection would drop.
      const { managedFields: _fields, ...metadata } = object.metadata
      entry.store.written(entry.projection(copyOf({ ...object, metadata })))
    },
    counts: () =>
      [...registered.values()].map(({ kind, store, informer, synced }) => {
        const { lists, watches, malformed } = informer?.counts ?? { lists: 0, watches: 0, malformed: 0 }
        return { kind, objects: store.size, lists, watches, malformed, synced }
      }),
  }
}

// A second registration may only add: one store cannot serve two different projections of a kind.
function merge(entry: Registered, options: InformerOptions, isNew: boolean): void {
  const { namespace, labelSelector, metadataOnly, project, ignoreUnchanged, indexes = {} } = options
  const clash = <T>(requested: T | undefined, current: T | undefined) =>
    requested !== undefined && requested !== current
  const differs =
    clash(namespace, entry.namespace) ||
    clash(labelSelector, entry.labelSelector) ||
    clash(metadataOnly, entry.metadataOnly) ||
    (entry.project !== undefined && clash(project, entry.project))
  if (!isNew && differs) {
    throw new Error(`${groupKindOf(entry.kind)} is already registered with another scope or projection`)
  }
  entry.namespace ??= namespace
  entry.labelSelector ??= labelSelector
  entry.metadataOnly ??= metadataOnly
  entry.project ??= project
  if (ignoreUnchanged) entry.store.ignoreUnchanged()
  for (const [name, values] of Object.entries(indexes)) entry.store.addIndex(name, values)
}

function unlessAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, reject)
  })
}
