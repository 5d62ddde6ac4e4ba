// A loopback TLS API server that serves the fleet: pages, watches, bookmarks, a steady stream of changes. POST /expire
// answers 410 to every watch, as an API server does that has lost its history. It prints one line when it listens.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { KindRef } from '#api'
import { createAuthority, issueCertificate } from '#lib'
import { KINDS, objectText } from './fleet.ts'

const perKind = Number(process.argv[2])
const changesPerSecond = Number(process.argv[3])
const BEGIN = 1000

interface KindStore {
  readonly kind: KindRef
  readonly edits: Uint32Array
  readonly versions: Float64Array
  readonly watchers: Set<ServerResponse>
  lists: number
}

let version = BEGIN
let oldest = BEGIN
const stores = new Map<string, KindStore>(
  KINDS.map((kind) => [
    kind.plural,
    {
      kind,
      edits: new Uint32Array(perKind),
      versions: new Float64Array(perKind).fill(BEGIN),
      watchers: new Set(),
      lists: 0,
    },
  ]),
)

function textOf(store: KindStore, index: number): string {
  return objectText(store.kind, index, store.edits[index]!, store.versions[index]!)
}

function list(store: KindStore, query: URLSearchParams, response: ServerResponse): void {
  const [from, at] = (query.get('continue') ?? `0:${version}`).split(':').map(Number) as [number, number]
  const to = Math.min(from + Number(query.get('limit') ?? perKind), perKind)
  if (from === 0) store.lists++
  const metadata = { resourceVersion: String(at), ...(to < perKind ? { continue: `${to}:${at}` } : {}) }
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write(`{"kind":"List","apiVersion":"v1","metadata":${JSON.stringify(metadata)},"items":[`)
  for (let i = from; i < to; i++) response.write(`${i > from ? ',' : ''}${textOf(store, i)}`)
  response.end(']}')
}

const EXPIRED = {
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  reason: 'Expired',
  code: 410,
  message: 'too old',
}

function watch(store: KindStore, query: URLSearchParams, response: ServerResponse): void {
  if (Number(query.get('resourceVersion')) < oldest) {
    response.writeHead(410, { 'content-type': 'application/json' }).end(JSON.stringify(EXPIRED))
    return
  }
  response.writeHead(200, { 'content-type': 'application/json' })
  response.flushHeaders()
  // What happened between the list and now is sent first, in order.
  const missed = [...store.versions.keys()].filter((i) => store.versions[i]! > Number(query.get('resourceVersion')))
  missed.sort((a, b) => store.versions[a]! - store.versions[b]!)
  for (const index of missed) send(response, 'MODIFIED', textOf(store, index))
  store.watchers.add(response)
  response.on('close', () => store.watchers.delete(response))
}

function send(response: ServerResponse, type: string, object: string): void {
  response.write(`{"type":"${type}","object":${object}}\n`)
}

function change(): void {
  if (perKind === 0) return
  const store = stores.get(KINDS[Math.floor(Math.random() * KINDS.length)]!.plural)!
  const index = Math.floor(Math.random() * perKind)
  store.edits[index]!++
  store.versions[index] = ++version
  const text = textOf(store, index)
  for (const watcher of store.watchers) send(watcher, 'MODIFIED', text)
}

function expire(): void {
  oldest = ++version
  for (const { watchers } of stores.values()) {
    for (const watcher of watchers) {
      send(watcher, 'ERROR', JSON.stringify(EXPIRED))
      watcher.end()
    }
    watchers.clear()
  }
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'https://localhost')
  if (url.pathname === '/expire') {
    expire()
    response.end()
    return
  }
  if (url.pathname === '/lists') {
    response.end(JSON.stringify([...stores.values()].map((store) => store.lists)))
    return
  }
  const store = stores.get(url.pathname.split('/').at(-1) ?? '')
  if (!store) {
    response.writeHead(404).end()
    return
  }
  if (url.searchParams.get('watch') === 'true') watch(store, url.searchParams, response)
  else list(store, url.searchParams, response)
}

const authority = createAuthority()
const leaf = issueCertificate(authority, { names: ['localhost'], ips: ['127.0.0.1'], days: 1 })
const server = createServer({ cert: leaf.certificate, key: leaf.key }, answer)
server.listen(0, '127.0.0.1', () => {
  const bytes = perKind > 0 ? textOf(stores.get(KINDS[0]!.plural)!, 0).length : 0
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port, ca: authority.certificate, bytes }))
})
setInterval(() => {
  for (let i = 0; i < changesPerSecond / 20; i++) change()
}, 50)
setInterval(() => {
  const bookmark = JSON.stringify({ kind: 'Thing', metadata: { resourceVersion: String(version) } })
  for (const { watchers } of stores.values()) for (const watcher of watchers) send(watcher, 'BOOKMARK', bookmark)
}, 5000)
// Ends with the process that started it, which holds the other end of standard input.
process.stdin.resume().on('end', () => process.exit(0))
