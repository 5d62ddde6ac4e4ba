// All informers of one connection behind one cache. Registering is cheap; `start` opens one watch per kind.
import { type AnyObject, apiVersionOf, groupKindOf, type Key, type KindRef } from '#api'
import { type Clock, copyOf, messageOf, systemClock } from '#lib'
import type { Client } from './client.ts'
import { ownersOf } from './indexes.ts'
import { createInformer, type Incident, type Informer, type InformerSettings } from './informer.ts'
import { matchesLabels } from './labels.ts'
import type { Change, InformerOptions, Informers } from './port.ts'
import { createProjection, type Project } from './projection.ts'
import { createStore, type Store } from './store.ts'
import { processWideTurn, type Turn } from './turn.ts'

export interface InformersOptions {
  readonly clock?: Clock
  readonly random?: () => number
  /** Lists take turns; all informers of a process share one unless a test brings its own. */
  readonly turn?: Turn
  /** A watch that says nothing for so long is dead. Servers send a bookmark about once a minute. */
  readonly silenceSeconds?: number
  readonly watchSeconds?: readonly [least: number, most: number]
  /** The most is also how long a leader may look at old objects after an outage of the API server. */
  readonly backoffMs?: readonly [base: number, most: number]
  readonly onIncident?: (incident: Incident) => void
}

export interface InformerCounts {
  readonly kind: KindRef
  readonly objects: number
  readonly lists: number
  readonly watches: number
  readonly malformed: number
  readonly synced: boolean
}

/** Informers that also hear of writes made through the same connection. */
export interface FedInformers extends Informers {
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
  brief: InformerOptions['brief']
  /** Set when started. */
  informer?: Informer
  projection?: Project
  synced: boolean
}

export function createInformers(client: Client, options: InformersOptions = {}): FedInformers {
  const onIncident = options.onIncident ?? (() => {})
  const settings: InformerSettings = {
    client,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    turn: options.turn ?? processWideTurn,
    silenceMs: (options.silenceSeconds ?? 90) * 1000,
    watchSeconds: options.watchSeconds ?? [300, 600],
    backoffMs: options.backoffMs ?? [500, 10_000],
    onIncident,
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
          onIncident({ kind, what: 'handler-failed', message: messageOf(error), error })
        }
      }
    })
    store.addIndex('owner', ownersOf)
    const unsaid = {
      namespace: undefined,
      labelSelector: undefined,
      metadataOnly: undefined,
      project: undefined,
      brief: undefined,
    }
    return { kind, store, handlers, ...unsaid, synced: false }
  }

  function noteSynced(entry: Registered): void {
    entry.synced = true
    if ([...registered.values()].every(({ synced }) => synced)) allSynced.resolve()
  }

  function startOne(entry: Registered): Promise<void> {
    const { kind, store, namespace, labelSelector, metadataOnly } = entry
    const projection = createProjection(entry.project)
    const informer = createInformer(kind, { namespace, labelSelector, metadataOnly }, store, projection, settings, () =>
      noteSynced(entry),
    )
    entry.projection = projection
    entry.informer = informer
    return informer.run(stopping.signal)
  }

  return {
    get: (kind, key) => find(kind).store.get(key) as never,
    list: (kind, query) => find(kind).store.list(query) as never,
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
      // The caller keeps its object; the cache gets its own, without what it would not keep.
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

// A second registration may only add: two controllers that want different views of one kind would each see half.
function merge(entry: Registered, options: InformerOptions, isNew: boolean): void {
  const { namespace, labelSelector, metadataOnly, project, brief, contentAlone, indexes = {} } = options
  const clash = <T>(wanted: T | undefined, there: T | undefined) => wanted !== undefined && wanted !== there
  const differs =
    clash(namespace, entry.namespace) ||
    clash(labelSelector, entry.labelSelector) ||
    clash(metadataOnly, entry.metadataOnly)
  const views = [
    [project, entry.project],
    [brief, entry.brief],
  ] as const
  if (!isNew && (differs || views.some(([wanted, there]) => there && clash(wanted, there)))) {
    throw new Error(`${groupKindOf(entry.kind)} is already registered with another scope or projection`)
  }
  entry.namespace ??= namespace
  entry.labelSelector ??= labelSelector
  entry.metadataOnly ??= metadataOnly
  entry.project ??= project
  entry.brief ??= brief
  if (brief) entry.store.setBrief(brief)
  if (contentAlone) entry.store.tellContentAlone()
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
