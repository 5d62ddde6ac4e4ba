// An API server on loopback that misbehaves on request: killed, silent, cut off in the middle of an event, busy,
// forgetful. Its storage is the truth a cache has to find back to, and it counts every request.
import * as http from 'node:http'
import * as https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { type AnyObject, apiVersionOf, type KindRef } from '#api'
import { isKubeError, matchesLabels, type Patch, type ServerAccess, type WriteOptions } from '#kube'
import { createAuthority, issueCertificate, parseJson } from '#lib'
import { createMemoryStorage, type MemoryStorage, type StoredEvent } from './memory/storage.ts'
import { parseTarget, statusOf, type Target } from './rest-paths.ts'

type Fault =
  /** Answers this instead. */
  | { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  /** Takes the request and never answers. */
  | { readonly silent: 'request' }
  /** Opens the watch and never says anything in it. */
  | { readonly silent: 'watch' }
  /** Writes so many bytes of the body, then cuts the connection. */
  | { readonly cutAfterBytes: number }
  /** Says this line in the watch before anything else. */
  | { readonly line: string }

interface FaultyRequest {
  readonly verb: 'list' | 'watch' | 'get' | 'create' | 'update' | 'patch' | 'delete' | 'other'
  readonly resource: string
  readonly query: URLSearchParams
  readonly at: number
}

export interface FaultyServer {
  readonly storage: MemoryStorage
  readonly requests: FaultyRequest[]
  readonly address: string
  /** Most list requests that were ever under way at the same time. */
  readonly listsAtOnce: number
  readonly openWatches: number
  /** The bearer token that is accepted; any when undefined. */
  token: string | undefined
  access(over?: Partial<ServerAccess>): ServerAccess
  /** The next matching requests meet this fault. */
  plan(verb: FaultyRequest['verb'] | '*', fault: Fault, times?: number): void
  /** Ends every planned fault. */
  heal(): void
  count(verb: FaultyRequest['verb']): number
  /** Forgets history: older watches and page tokens answer 410. */
  compact(): void
  /** A bookmark for every open watch. */
  bookmark(): void
  /** Writes this line into every open watch. */
  say(line: string): void
  /** Cuts every connection and stops listening; the storage survives. */
  kill(): Promise<void>
  restart(): Promise<void>
  close(): Promise<void>
}

export interface FaultyServerOptions {
  readonly kinds: readonly KindRef[]
  /** Plain HTTP is faster; faults of TLS need TLS. */
  readonly tls?: boolean
  readonly storage?: MemoryStorage
  /** Names in the certificate instead of 127.0.0.1. */
  readonly certificateFor?: readonly string[]
  readonly certificateNow?: number
  readonly onList?: () => Promise<void>
}

interface OpenWatch {
  readonly response: http.ServerResponse
  readonly target: Target
  bytesLeft: number
  isSilent: boolean
}

export async function faultyServer(options: FaultyServerOptions): Promise<FaultyServer> {
  const storage = options.storage ?? createMemoryStorage()
  const authority = createAuthority({ name: 'faulty server authority' })
  const leaf = issueCertificate(authority, {
    ...(options.certificateFor ? { names: options.certificateFor } : { ips: ['127.0.0.1'] }),
    days: 2,
    ...(options.certificateNow === undefined ? {} : { now: options.certificateNow }),
  })
  const requests: FaultyRequest[] = []
  const faults: { verb: string; fault: Fault; left: number }[] = []
  const watches = new Set<OpenWatch>()
  const sockets = new Set<Socket>()
  const snapshots = new Map<string, { items: readonly AnyObject[]; version: number; offset: number }>()
  let history: StoredEvent[] = []
  let oldest = 0
  let server: http.Server | undefined
  let port = 0
  let listsNow = 0
  let listsAtOnce = 0
  let token: string | undefined

  storage.onEvent((event) => {
    history.push(event)
    for (const watch of watches) send(watch, event)
  })

  function write(watch: OpenWatch, line: string): void {
    if (watch.isSilent || watch.response.destroyed) return
    const bytes = Buffer.from(`${line}\n`)
    if (bytes.length <= watch.bytesLeft) {
      watch.bytesLeft -= bytes.length
      watch.response.write(bytes)
      return
    }
    watches.delete(watch)
    const { socket } = watch.response
    watch.response.write(bytes.subarray(0, watch.bytesLeft), () => socket?.destroy())
    if (watch.bytesLeft === 0) socket?.destroy()
  }

  function send(watch: OpenWatch, event: StoredEvent): void {
    const { kind, namespace } = watch.target
    if (event.kind.plural !== kind.plural || event.kind.group !== kind.group) return
    if (namespace !== undefined && event.object.metadata.namespace !== namespace) return
    // An object that leaves the selection is gone for this watch.
    const isSelected = matchesLabels(event.object.metadata.labels, watch.target.query.get('labelSelector') ?? '')
    write(watch, JSON.stringify({ type: isSelected ? event.type : 'DELETED', object: event.object }))
  }

  function takeFault(verb: string): Fault | undefined {
    const at = faults.findIndex((fault) => fault.verb === '*' || fault.verb === verb)
    const found = faults[at]
    if (found && --found.left <= 0) faults.splice(at, 1)
    return found?.fault
  }

  function answer(
    response: http.ServerResponse,
    status: number,
    body: unknown,
    headers: http.OutgoingHttpHeaders = {},
  ) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const type = typeof body === 'string' ? {} : { 'content-type': 'application/json' }
    response.writeHead(status, { 'content-length': Buffer.byteLength(text), ...type, ...headers })
    response.end(text)
  }

  function openWatch(target: Target, response: http.ServerResponse, fault: Fault | undefined): void {
    const since = Number(target.query.get('resourceVersion') ?? 0)
    if (since < oldest) {
      answer(response, 410, statusOf(410, 'Expired', 'too old resource version'))
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    const watch: OpenWatch = {
      response,
      target,
      bytesLeft: fault && 'cutAfterBytes' in fault ? fault.cutAfterBytes : Number.POSITIVE_INFINITY,
      isSilent: fault !== undefined && 'silent' in fault,
    }
    watches.add(watch)
    response.on('close', () => watches.delete(watch))
    if (fault && 'line' in fault) write(watch, fault.line)
    for (const event of history) if (event.resourceVersion > since) send(watch, event)
  }

  async function list(target: Target, response: http.ServerResponse): Promise<void> {
    listsAtOnce = Math.max(listsAtOnce, ++listsNow)
    await options.onList?.()
    listsNow--
    const limit = Number(target.query.get('limit') ?? 0)
    const asked = target.query.get('continue')
    const snapshot = asked === null ? toSnapshot(target) : snapshots.get(asked)
    if (!snapshot) return answer(response, 410, statusOf(410, 'Expired', 'the provided continue parameter is too old'))
    const { items, version, offset } = snapshot
    const end = limit > 0 ? offset + limit : items.length
    const next = end < items.length ? `page-${version}-${end}-${target.kind.plural}` : undefined
    if (next !== undefined) snapshots.set(next, { items, version, offset: end })
    answer(response, 200, {
      apiVersion: apiVersionOf(target.kind),
      kind: `${target.kind.kind}List`,
      metadata: { resourceVersion: String(version), ...(next ? { continue: next } : {}) },
      items: items.slice(offset, end),
    })
  }

  function toSnapshot({ kind, namespace, query }: Target) {
    const labelSelector = query.get('labelSelector') ?? undefined
    const fieldSelector = query.get('fieldSelector') ?? undefined
    const items = storage.list(kind, { namespace, labelSelector, fieldSelector })
    return { items, version: storage.version, offset: 0 }
  }

  function change(target: Target, method: string, type: string, body: unknown): AnyObject | undefined {
    const { kind, key, subresource } = target
    const dryRun = target.query.get('dryRun') === 'All'
    const how: WriteOptions = subresource === 'status' ? { subresource, dryRun } : { dryRun }
    if (method === 'POST') return storage.create(kind, body as AnyObject, how)
    if (method === 'PUT') return storage.replace(kind, body as AnyObject, how)
    if (method === 'DELETE') {
      const { preconditions, propagationPolicy: propagation } = body as {
        preconditions?: object
        propagationPolicy?: never
      }
      return storage.delete(kind, key!, { ...preconditions, propagation })
    }
    if (type.startsWith('application/apply-patch')) return storage.apply(kind, body as AnyObject, how)
    const patch = { type: type.startsWith('application/json-patch') ? 'json' : 'merge', body } as Patch
    return storage.patch(kind, key!, patch, how)
  }

  async function serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const target = parseTarget(request, options.kinds)
    const { verb } = target
    requests.push({ verb, resource: target.kind?.plural ?? '', query: target.query, at: performance.now() })
    const body = await readJson(request)
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
      return answer(response, 401, statusOf(401, 'Unauthorized', 'Unauthorized'))
    }
    const fault = takeFault(verb)
    if (fault && 'silent' in fault && fault.silent === 'request') return
    if (fault && 'status' in fault)
      return answer(response, fault.status, fault.body ?? statusOf(fault.status), fault.headers)
    if (!target.kind) return answer(response, 404, '404 page not found', { 'content-type': 'text/plain' })
    if (verb === 'watch') return openWatch(target, response, fault)
    if (fault && 'cutAfterBytes' in fault) return void cutAnswer(response, target, fault.cutAfterBytes)
    if (verb === 'list') return list(target, response)
    try {
      const found = verb === 'get' ? storage.get(target.kind, target.key!) : undefined
      if (verb === 'get' && !found) return answer(response, 404, statusOf(404, 'NotFound', 'not found', target))
      const uid = verb === 'delete' ? storage.get(target.kind, target.key!)?.metadata.uid : undefined
      const object = found ?? change(target, request.method!, request.headers['content-type'] ?? '', body)
      const gone = { ...statusOf(200), status: 'Success', details: { uid } }
      answer(response, verb === 'create' ? 201 : 200, object ?? gone)
    } catch (error) {
      if (!isKubeError(error)) throw error
      answer(response, error.status ?? 422, statusOf(error.status ?? 422, error.reason, error.message, target))
    }
  }

  function cutAnswer(response: http.ServerResponse, target: Target, bytes: number): void {
    const { socket } = response
    const text = JSON.stringify({ kind: `${target.kind.kind}List`, metadata: {}, items: storage.list(target.kind) })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    response.write(text.slice(0, bytes), () => socket?.destroy())
  }

  async function listen(): Promise<void> {
    const onRequest: http.RequestListener = (request, response) => {
      serve(request, response).catch((error: unknown) =>
        answer(response, 500, statusOf(500, 'InternalError', String(error))),
      )
    }
    server =
      options.tls === false
        ? http.createServer(onRequest)
        : https.createServer({ cert: leaf.certificate, key: leaf.key }, onRequest)
    server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      socket.on('error', () => {})
    })
    server.on('tlsClientError', () => {})
    await new Promise<void>((resolve, reject) => {
      server!.once('error', reject)
      server!.listen(port, '127.0.0.1', resolve)
    })
    port = (server.address() as AddressInfo).port
  }

  async function kill(): Promise<void> {
    const stopped = new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)))
    for (const socket of sockets) socket.destroy()
    server = undefined
    await stopped
  }

  const addressOf = (at: number) => `${options.tls === false ? 'http' : 'https'}://127.0.0.1:${at}`
  await listen()
  return {
    storage,
    requests,
    get address() {
      return addressOf(port)
    },
    get listsAtOnce() {
      return listsAtOnce
    },
    get openWatches() {
      return watches.size
    },
    get token() {
      return token
    },
    set token(value) {
      token = value
    },
    access(over = {}) {
      const credentials = over.credentials ?? {
        current: async () => (token === undefined ? {} : { token }),
        renew: async () => false,
      }
      return {
        server: addressOf(port),
        ca: authority.certificate,
        namespace: 'default',
        origin: 'a test',
        ...over,
        credentials,
      }
    },
    plan: (verb, fault, times = 1) => void faults.push({ verb, fault, left: times }),
    heal: () => void faults.splice(0),
    count: (verb) => requests.filter((request) => request.verb === verb).length,
    compact() {
      history = []
      oldest = storage.version
      snapshots.clear()
    },
    bookmark() {
      for (const watch of watches) {
        const object = { kind: watch.target.kind.kind, metadata: { resourceVersion: String(storage.version) } }
        write(watch, JSON.stringify({ type: 'BOOKMARK', object }))
      }
    },
    say(line) {
      for (const watch of [...watches]) write(watch, line)
    },
    kill,
    restart: listen,
    close: kill,
  }
}

async function readJson(request: http.IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text === '' ? {} : parseJson(text)
}
