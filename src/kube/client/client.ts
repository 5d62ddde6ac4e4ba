// A thin Kubernetes client: every verb as a path, a body and a reason. Nothing is cached here; `onWritten` lets the
// informers of the same connection see a write at once.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { type AnyObject, apiVersionOf, type Key, type KindRef, keyOf } from '#api'
import { isKubeError, KubeError, type ListOptions, type Live, type Objects, type WriteOptions } from '../port.ts'
import type { ServerAccess } from './access.ts'
import { type CallOptions, createCalls } from './calls.ts'
import { collectionPath, nameOf, objectPath, withQuery } from './paths.ts'

export interface ClientOptions extends CallOptions {
  readonly fieldManager?: string
  readonly pageSize?: number
  /** The server's answer to a write: the object, or `undefined` when the object is gone. */
  readonly onWritten?: (kind: KindRef, key: Key, object: AnyObject | undefined, goneUid?: string) => void
}

interface PageEnd {
  readonly resourceVersion: string
  readonly continue: string | undefined
}

interface PageQuery extends ListOptions {
  readonly metadataOnly?: boolean | undefined
  readonly continue?: string | undefined
  readonly signal?: AbortSignal | undefined
}

interface WatchQuery extends ListOptions {
  readonly metadataOnly?: boolean | undefined
  readonly resourceVersion: string
  readonly timeoutSeconds: number
  readonly signal: AbortSignal
}

interface RawInit {
  readonly method?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

interface RawAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Client extends Objects {
  readonly access: ServerAccess
  /** Any path, for probes and discovery. Every status is an answer; only a broken connection throws. */
  raw(path: string, init?: RawInit): Promise<RawAnswer>
  /** The open body of a successful GET. `timeoutMs` is for its headers. */
  download(path: string, timeoutMs: number): Promise<IncomingMessage>
  /** One page of a list; each item is handed on as it arrives, and only the rest is answered. */
  page(kind: KindRef, query: PageQuery, onItem: (item: AnyObject) => void): Promise<PageEnd>
  /** The open answer of a watch: one JSON line per event. */
  watch(kind: KindRef, query: WatchQuery): Promise<IncomingMessage>
  close(): void
}

const JSON_TYPE = { 'content-type': 'application/json' }
const PATCH_TYPES = { merge: 'application/merge-patch+json', json: 'application/json-patch+json' }
const APPLY_TYPE = 'application/apply-patch+yaml'
const MAX_LIST_RESTARTS = 5

export function createClient(access: ServerAccess, options: ClientOptions = {}): Client {
  const calls = createCalls(access, options)

  async function get<T extends AnyObject>(kind: KindRef, key: Key): Promise<Live<T> | undefined> {
    try {
      const what = `get ${nameOf(kind, key)}`
      return (await calls.json({ verb: 'get', method: 'GET', path: objectPath(kind, key), kind, what })) as never
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return undefined
      throw error
    }
  }

  function toListCall(kind: KindRef, query: PageQuery) {
    const { namespace, labelSelector, fieldSelector, signal } = query
    const filter = { limit: options.pageSize ?? 100, continue: query.continue, labelSelector, fieldSelector }
    const path = withQuery(collectionPath(kind, namespace), filter)
    const what = `list ${kind.plural}${namespace ? ` in ${namespace}` : ''}`
    return { verb: 'list', method: 'GET', path, kind, what, signal, ...forMetadata(query, 'List') } as const
  }

  // An expired page token restarts the list; what was given already is left out the second time.
  async function* list<T extends AnyObject>(kind: KindRef, query: ListOptions = {}): AsyncGenerator<Live<T>> {
    const given = new Set<string>()
    let token: string | undefined
    for (let restarts = 0; ; ) {
      try {
        const body = await calls.json(toListCall(kind, { ...query, continue: token }))
        const { continue: next } = toPageEnd(body)
        for (const bare of (body['items'] ?? []) as T[]) {
          const item = typed(kind, bare)
          const id = item.metadata.uid ?? JSON.stringify(keyOf(item))
          if (given.has(id)) continue
          given.add(id)
          yield item
        }
        if (next === undefined) return
        token = next
      } catch (error) {
        if (!isKubeError(error, 'Expired') || token === undefined || restarts >= MAX_LIST_RESTARTS) throw error
        token = undefined
        restarts++
      }
    }
  }

  interface Writing {
    readonly verb: 'create' | 'update' | 'patch' | 'apply'
    readonly method: string
    readonly path: string
    readonly key: Key
    readonly body: unknown
    readonly contentType?: string
    readonly repeatable?: boolean
    readonly query?: Readonly<Record<string, string>>
  }

  async function write<T extends AnyObject>(kind: KindRef, how: WriteOptions, it: Writing): Promise<Live<T>> {
    const fieldManager = how.fieldManager ?? options.fieldManager ?? 'capt'
    const query = { fieldManager, dryRun: how.dryRun ? 'All' : undefined, ...it.query }
    const answer = (await calls.json({
      verb: it.verb,
      method: it.method,
      path: withQuery(it.path, query),
      kind,
      what: `${it.verb} ${nameOf(kind, it.key)}`,
      body: JSON.stringify(it.body),
      headers: it.contentType ? { 'content-type': it.contentType } : JSON_TYPE,
      repeatable: it.repeatable ?? true,
      permit: how.permit,
    })) as unknown as T
    if (!how.dryRun) options.onWritten?.(kind, keyOf(answer), answer)
    return answer
  }

  return {
    access,
    get,
    list,
    async page(kind, query, onItem) {
      const withKind = query.metadataOnly ? withType : typed
      const rest = await calls.items(toListCall(kind, query), (item) => onItem(withKind(kind, item as never)))
      return toPageEnd(rest)
    },
    async create(kind, object, how = {}) {
      const { namespace, name, generateName } = object.metadata
      const key = { namespace, name: name ?? `${generateName ?? ''}…` }
      const collection = kind.namespaced ? parentOf(objectPath(kind, { namespace, name: 'new' })) : collectionPath(kind)
      const path = how.subresource === undefined ? collection : objectPath(kind, keyOf(object), how.subresource)
      return write(kind, how, {
        verb: 'create',
        method: 'POST',
        path,
        key: toKey(key),
        body: how.subresource === undefined ? withType(kind, object) : object,
        repeatable: false,
      })
    },
    async replace(kind, object, how = {}) {
      const key = keyOf(object)
      if (!object.metadata.resourceVersion) {
        throw new KubeError('Invalid', `replace ${nameOf(kind, key)}: metadata.resourceVersion is missing`, {
          hint: 'replace only what was read live; otherwise apply or patch',
        })
      }
      const path = objectPath(kind, key, how.subresource)
      return write(kind, how, { verb: 'update', method: 'PUT', path, key, body: withType(kind, object) })
    },
    async patch(kind, key, patch, how = {}) {
      return write(kind, how, {
        verb: 'patch',
        method: 'PATCH',
        path: objectPath(kind, key, how.subresource),
        key,
        body: patch.body,
        contentType: PATCH_TYPES[patch.type],
        repeatable: patch.type === 'merge',
      })
    },
    async apply(kind, object, how = {}) {
      const key = keyOf(object)
      return write(kind, how, {
        verb: 'apply',
        method: 'PATCH',
        path: objectPath(kind, key, how.subresource),
        key,
        body: withType(kind, object),
        contentType: APPLY_TYPE,
        query: { force: String(how.force ?? true) },
      })
    },
    async delete(kind, key, how = {}) {
      const { uid, resourceVersion, propagation } = how
      const preconditions = uid || resourceVersion ? { preconditions: { uid, resourceVersion } } : {}
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', ...preconditions, propagationPolicy: propagation }
      try {
        const answer = await calls.json({
          verb: 'delete',
          method: 'DELETE',
          path: objectPath(kind, key),
          kind,
          what: `delete ${nameOf(kind, key)}`,
          body: JSON.stringify(body),
          headers: JSON_TYPE,
          permit: how.permit,
        })
        const details = answer['kind'] === 'Status' ? (answer['details'] as { uid?: string } | undefined) : undefined
        if (answer['kind'] === 'Status') options.onWritten?.(kind, key, undefined, details?.uid)
        else options.onWritten?.(kind, key, answer as unknown as AnyObject)
      } catch (error) {
        if (!isKubeError(error, 'NotFound')) throw error
      }
    },
    async raw(path, init = {}) {
      const { method = 'GET', body, timeoutMs, signal } = init
      const headers = { ...(body === undefined ? {} : JSON_TYPE), ...init.headers }
      const what = `${method} ${path.split('?')[0]}`
      const repeatable = method === 'GET'
      return calls.raw({ verb: 'raw', method, path, what, body, headers, timeoutMs, signal, repeatable })
    },
    download: (path, timeoutMs) => calls.stream({ verb: 'raw', method: 'GET', path, what: `get ${path}`, timeoutMs }),
    async watch(kind, query) {
      const { namespace, labelSelector, fieldSelector, resourceVersion, timeoutSeconds, signal } = query
      const path = withQuery(collectionPath(kind, namespace), {
        watch: 'true',
        allowWatchBookmarks: 'true',
        resourceVersion,
        timeoutSeconds,
        labelSelector,
        fieldSelector,
      })
      const what = `watch ${kind.plural}`
      return calls.stream({ verb: 'watch', method: 'GET', path, kind, what, signal, ...forMetadata(query, '') })
    },
    close: () => calls.close(),
  }
}

/** The header by which a server answers with metadata alone. */
function forMetadata({ metadataOnly }: { readonly metadataOnly?: boolean | undefined }, list: 'List' | '') {
  if (!metadataOnly) return {}
  return { headers: { accept: `application/json;as=PartialObjectMetadata${list};g=meta.k8s.io;v=v1` } }
}

function toPageEnd(body: Readonly<Record<string, unknown>>): PageEnd {
  const metadata = (body['metadata'] ?? {}) as { resourceVersion?: string; continue?: string }
  return { resourceVersion: metadata.resourceVersion ?? '', continue: metadata.continue || undefined }
}

// Items of a built-in list come without apiVersion and kind: they are added.
function typed<T extends AnyObject>(kind: KindRef, item: T): T {
  return item.kind === undefined ? withType(kind, item) : item
}

function withType<T extends AnyObject>(kind: KindRef, object: T): T {
  return { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind }
}

function toKey(key: { namespace?: string | undefined; name: string }): Key {
  return key.namespace === undefined ? { name: key.name } : { namespace: key.namespace, name: key.name }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'))
}
