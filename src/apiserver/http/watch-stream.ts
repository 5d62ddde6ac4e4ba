// A watch over HTTP: one JSON document per line, written as fast as the reader reads and no faster.
import type { OutgoingHttpHeaders } from 'node:http'
import { CRDS, isSame, type Served } from '../kinds/registry.ts'
import type { ApiObject } from '../object.ts'
import { toPartialMetadata, toTable } from '../present/table.ts'
import { select } from '../read/selection.ts'
import { readWatchRequest, startWatch, type WatchEventType } from '../read/watch.ts'
import { warningHeader } from './answer.ts'
import type { Exchange } from './exchange.ts'
import type { Target } from './target.ts'

/** When the client names no timeout: long, and not the same for all, so that they do not all come back at once. */
const TIMEOUT_MS = 30 * 60_000

export function streamWatch(exchange: Exchange, target: Target, served: Served): undefined {
  const { realm, query, response, request } = exchange
  const selection = select(served, target.namespace, query)
  const wanted = readWatchRequest(query, realm.store.version())
  const headers: OutgoingHttpHeaders = {
    'content-type': 'application/json',
    'cache-control': 'no-cache, private',
    ...warningHeader(exchange.warnings),
  }
  response.writeHead(200, headers)
  response.flushHeaders()
  const form = presenter(exchange, served)
  const timeoutMs = TIMEOUT_MS * (1 + Math.random())
  const sink = {
    send: (type: WatchEventType, object: object) =>
      response.write(
        `${JSON.stringify({ type, object: type === 'ERROR' ? object : form(type, object as ApiObject) })}\n`,
      ),
    end: () => void response.end(),
  }
  const watch = startWatch(realm, selection, wanted, sink, realm.world.clock, timeoutMs)
  response.on('drain', watch.resume)
  request.on('close', watch.stop)
  response.on('close', watch.stop)
  realm.streams.add(watch.stop)
  const unfollow = endWithDefinition(exchange, served, watch.stop)
  response.on('close', () => {
    realm.streams.delete(watch.stop)
    unfollow()
  })
  return undefined
}

/** Ends the watch when the definition of its kind changes or is deleted: the client then lists and watches again. */
function endWithDefinition({ realm }: Exchange, { type }: Served, stop: () => void): () => void {
  if (!type.custom) return () => {}
  const name = `${type.plural}.${type.group}`
  return realm.store.subscribe((change) => {
    if (!isSame(change.collection, CRDS) || change.object.metadata.name !== name) return
    const before = change.previous?.object.metadata.generation
    if (change.type === 'DELETED' || change.object.metadata.generation !== before) stop()
  })
}

function presenter(
  { form, query, realm }: Exchange,
  { version }: Served,
): (type: WatchEventType, object: ApiObject) => object {
  if (form.is === 'metadata') return (_type, object) => toPartialMetadata(object, form.version)
  if (form.is !== 'table') return (_type, object) => object
  let headers = true
  const include =
    query.get('includeObject') === 'Object' ? 'Object' : query.get('includeObject') === 'None' ? 'None' : 'Metadata'
  return (type, object) => {
    const metadata = { resourceVersion: object.metadata.resourceVersion ?? '' }
    const objects = type === 'BOOKMARK' ? [] : [object]
    const table = toTable(objects, version, {
      apiVersion: form.version,
      metadata,
      include,
      now: realm.world.clock.now(),
      headers,
    })
    headers = false
    return table
  }
}
