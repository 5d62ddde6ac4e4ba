// Informers over the memory storage. They use the stores of the real ones, so what a cache may show when is the same.
import { type AnyObject, apiVersionOf, groupKindOf, type Key, type KindRef } from '#api'
import { type Change, type InformerOptions, type Informers, matchesLabels } from '#kube'
import { createProjection, type Project } from '../../kube/cache/projection.ts'
import { createStore, type Store } from '../../kube/cache/store.ts'
import type { MemoryStorage, StoredEvent } from './storage.ts'

export interface MemoryInformers extends Informers {
  flush(): void
  written(kind: KindRef, key: Key, object: AnyObject | undefined, goneUid?: string): void
}

interface Registered {
  readonly kind: KindRef
  readonly store: Store
  readonly handlers: ((change: Change) => void)[]
  options: InformerOptions
  project: Project
}

export function createMemoryInformers(storage: MemoryStorage, delivery: 'sync' | 'manual'): MemoryInformers {
  const registered = new Map<string, Registered>()
  const waiting: StoredEvent[] = []
  const started = Promise.withResolvers<void>()
  let isRunning = false
  let hasStarted = false

  function find(kind: KindRef): Registered {
    const entry = registered.get(groupKindOf(kind))
    if (!entry) throw new Error(`no informer for ${groupKindOf(kind)}: register the kind before start`)
    return entry
  }

  function addKind(kind: KindRef, options: InformerOptions): Registered {
    const handlers: Registered['handlers'] = []
    const store = createStore((change) => {
      for (const handler of handlers) handler(change)
    })
    return { kind, store, handlers, options, project: projecting(options) }
  }

  function isInScope({ options }: Registered, object: AnyObject): boolean {
    if (options.namespace !== undefined && object.metadata.namespace !== options.namespace) return false
    return matchesLabels(object.metadata.labels, options.labelSelector)
  }

  function deliver(event: StoredEvent): void {
    const entry = registered.get(groupKindOf(event.kind))
    if (!entry) return
    const object = { ...event.object, apiVersion: apiVersionOf(entry.kind) }
    // A watch with a selector says DELETED when an object leaves the selection.
    entry.store.observe(isInScope(entry, object) ? event.type : 'DELETED', entry.project(object))
  }

  storage.onEvent((event) => {
    if (!isRunning) return
    if (delivery === 'manual') waiting.push(event)
    else deliver(event)
  })

  return {
    get: (kind, key) => find(kind).store.get(key) as never,
    list: (kind, query) => find(kind).store.list(query) as never,
    keys: (kind, query) => find(kind).store.keys(query),
    summaries: (kind, summarize, query) => find(kind).store.summaries(summarize, query),
    register(kind, options = {}) {
      if (hasStarted) throw new Error(`${groupKindOf(kind)} was registered after the informers had started`)
      const entry = registered.get(groupKindOf(kind)) ?? addKind(kind, options)
      entry.options = { ...options, ...entry.options }
      if (!entry.options.project && options.project) entry.options = { ...entry.options, project: options.project }
      entry.project = projecting(entry.options)
      for (const [name, values] of Object.entries(options.indexes ?? {})) entry.store.addIndex(name, values)
      if (options.ignoreUnchanged) entry.store.ignoreUnchanged()
      registered.set(groupKindOf(kind), entry)
    },
    onChange(kind, handler) {
      const entry = find(kind)
      entry.handlers.push(handler)
      for (const object of entry.store.list()) handler({ type: 'added', object })
    },
    start() {
      if (hasStarted) return
      hasStarted = true
      isRunning = true
      for (const entry of registered.values()) {
        const { namespace, labelSelector } = entry.options
        const listing = entry.store.beginList()
        for (const object of storage.list(entry.kind, { namespace, labelSelector })) listing.add(entry.project(object))
        listing.end(String(storage.version))
      }
      started.resolve()
    },
    async synced(signal) {
      signal?.throwIfAborted()
      await started.promise
    },
    async stop() {
      isRunning = false
    },
    flush() {
      for (let event = waiting.shift(); event; event = waiting.shift()) deliver(event)
    },
    written(kind, key, object, goneUid) {
      const entry = registered.get(groupKindOf(kind))
      if (!entry || !isRunning) return
      if (!object) return entry.store.gone(key, goneUid)
      const seen = { ...structuredClone(object), apiVersion: apiVersionOf(entry.kind) }
      if (object.kind === kind.kind && isInScope(entry, seen)) entry.store.written(entry.project(seen))
    },
  }
}

function projecting(options: InformerOptions): Project {
  const project = createProjection(options.project)
  return (object) => deepFreeze(project(structuredClone(object)))
}

function deepFreeze<T>(value: T): T {
  if (value === null || typeof value !== 'object' || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}
