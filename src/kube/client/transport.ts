// One HTTP exchange with an API server, on node:https alone: a keep-alive pool for requests, a connection of its own
// for each stream. It knows nothing of Kubernetes objects; it asks again once with a fresh identity after a 401, and
// once when a pooled connection turns out to be dead.
import * as http from 'node:http'
import * as https from 'node:https'
import { createSecureContext } from 'node:tls'
import type { Clock } from '#lib'
import type { Identity, ServerAccess } from './access.ts'
import { type Asked, badAnswer } from './answers.ts'
import { codeOf, toNetworkFault } from './network-faults.ts'
import { NotPermitted, sendPermitted } from './permit.ts'

interface Request {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly body?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** For the headers of one attempt, name and handshake included; the same again for the body. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** True when sending it twice does what sending it once does. */
  readonly repeatable: boolean
  /** Asked when a connection is there, just before the first byte leaves; what it throws ends the request. */
  readonly permit?: (() => void) | undefined
  readonly asked: Asked
}

export interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
}

interface Transport {
  send(request: Request): Promise<Answer>
  /** As `send`, but the body of a success is handed on while it arrives; `text` is empty then. */
  read(request: Request, onChunk: (chunk: Buffer) => void): Promise<Answer>
  /** Resolves with the headers; the body flows on a connection of its own. Destroy it to end it. */
  open(request: Request): Promise<http.IncomingMessage>
  close(): void
}

/** Called for each exchange on the wire, repeats included. `status` is 0 when no answer came. */
type OnExchange = (request: Request, status: number) => void

const MAX_ANSWER_BYTES = 64 * 1024 * 1024
const KEEP_ALIVE_MS = 30_000

/** Connections for requests; a watch has one of its own. */
export interface Pool {
  /** Further requests wait for a free one. */
  readonly mostSockets: number
  readonly idleMs: number
}

// Some 100 KB for each connection, and a handshake for each that is closed and reopened. Idle for less than the limit
// of every API server and load balancer we know, so that a pooled connection is rarely a dead one.
const POOL: Pool = { mostSockets: 12, idleMs: 15_000 }

export function createTransport(
  access: ServerAccess,
  options: { clock: Clock; userAgent: string; pool?: Pool | undefined; onExchange?: OnExchange | undefined },
): Transport {
  const base = new URL(access.server)
  const secure = base.protocol === 'https:'
  const prefix = base.pathname.replace(/\/+$/, '')
  const host = base.hostname.replace(/^\[|\]$/g, '')
  const lines = openLines(access, secure, options.pool ?? POOL)

  function start(request: Request, identity: Identity, agent: http.Agent): http.ClientRequest {
    const headers: http.OutgoingHttpHeaders = {
      accept: 'application/json',
      'user-agent': options.userAgent,
      ...(request.body === undefined ? {} : { 'content-length': Buffer.byteLength(request.body) }),
      ...request.headers,
      ...(identity.headers as http.OutgoingHttpHeaders | undefined),
      ...(identity.token === undefined ? {} : { authorization: `Bearer ${identity.token}` }),
    }
    const port = base.port || (secure ? 443 : 80)
    const plain = { agent, method: request.method, host, port, path: `${prefix}${request.path}`, headers }
    if (!secure) return http.request(plain)
    return https.request({
      ...plain,
      rejectUnauthorized: access.insecure !== true,
      servername: access.serverName ?? (isAddress(host) ? '' : host),
    })
  }

  function exchange(request: Request, identity: Identity, use: keyof Lines): Promise<http.IncomingMessage> {
    return new Promise((resolve, reject) => {
      const wire = start(request, identity, lines.of(identity)[use])
      const deadline = options.clock.after(request.timeoutMs, () => wire.destroy(timeout()))
      wire.on('response', (response) => {
        deadline.cancel()
        options.onExchange?.(request, response.statusCode ?? 0)
        resolve(response)
      })
      wire.on('error', (error) => {
        deadline.cancel()
        options.onExchange?.(request, 0)
        reject(wire.reusedSocket && isReset(error) ? new DeadLine(error) : error)
      })
      // The pool does so by itself.
      if (use === 'single') wire.on('socket', (socket) => socket.setKeepAlive(true, KEEP_ALIVE_MS))
      if (request.signal) endWith(request.signal, wire)
      if (request.permit === undefined) wire.end(request.body)
      else sendPermitted(wire, secure, request.permit, request.body)
    })
  }

  async function attempt<T>(request: Request, use: keyof Lines, read: (r: http.IncomingMessage) => Promise<T>) {
    let renewed = false
    let redialled = false
    for (;;) {
      request.signal?.throwIfAborted()
      try {
        const identity = await access.credentials.current()
        // All pooled connections may have died together, so the second try gets one of its own.
        const response = await exchange(request, identity, redialled ? 'single' : use)
        if (response.statusCode !== 401 || renewed || !(await access.credentials.renew(identity)))
          return await read(response)
        renewed = true
        response.resume()
      } catch (error) {
        request.signal?.throwIfAborted()
        if (error instanceof NotPermitted) throw error.cause
        if (!(error instanceof DeadLine)) throw toNetworkFault(error, request.asked)
        if (redialled || !request.repeatable) throw toNetworkFault(error.cause, request.asked)
        redialled = true
      }
    }
  }

  type OnChunk = (chunk: Buffer) => void
  async function readWithin(response: http.IncomingMessage, request: Request, onChunk?: OnChunk): Promise<Answer> {
    const deadline = options.clock.after(request.timeoutMs, () => response.destroy(timeout()))
    const { statusCode: status = 0, headers } = response
    try {
      if (!onChunk || status !== 200) return { status, headers, text: await readAll(response, request.asked) }
      await handOn(response, onChunk)
      return { status, headers, text: '' }
    } finally {
      deadline.cancel()
    }
  }

  return {
    send: (request) => attempt(request, 'pool', (response) => readWithin(response, request)),
    read: (request, onChunk) => attempt(request, 'pool', (response) => readWithin(response, request, onChunk)),
    open: (request) => attempt(request, 'single', async (response) => response),
    close: () => lines.close(),
  }
}

interface Lines {
  readonly pool: http.Agent
  readonly single: http.Agent
}

// One TLS context for all connections of an identity: parsing the authorities for each watch would cost 100 KB apiece.
function openLines(access: ServerAccess, secure: boolean, { mostSockets, idleMs }: Pool) {
  let last: (Lines & Identity & { readonly ca: string | undefined }) | undefined
  function of({ certificate, key }: Identity): Lines {
    const { ca } = access
    if (last && last.ca === ca && last.certificate === certificate && last.key === key) return last
    const most = { maxSockets: mostSockets, maxFreeSockets: mostSockets }
    const pooled = { keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS, timeout: idleMs, ...most }
    if (!secure) {
      const pool = toOneServer(new http.Agent(pooled))
      last = { ca, certificate, key, pool, single: new http.Agent({ keepAlive: false }) }
      return last
    }
    const secureContext = createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(certificate === undefined ? {} : { cert: certificate }),
      ...(key === undefined ? {} : { key }),
    })
    const pool = toOneServer(new https.Agent({ ...pooled, secureContext }))
    last = { ca, certificate, key, pool, single: new https.Agent({ keepAlive: false, secureContext }) }
    return last
  }
  function close(): void {
    last?.pool.destroy()
    last?.single.destroy()
  }
  return { of, close }
}

/** All requests have the same destination, so the pool key is constant and not computed for each. */
function toOneServer<A extends http.Agent>(agent: A): A {
  return Object.assign(agent, { getName: () => 'server' })
}

function endWith(signal: AbortSignal, wire: http.ClientRequest): void {
  const onAbort = () => wire.destroy()
  wire.on('close', () => signal.removeEventListener('abort', onAbort))
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
}

/** A pooled connection that the server had closed before it saw our request. */
class DeadLine extends Error {
  constructor(cause: unknown) {
    super('the pooled connection is dead', { cause })
  }
}

function readAll(response: http.IncomingMessage, asked: Asked): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    response.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_ANSWER_BYTES) response.destroy(badAnswer(asked, `answered more than ${MAX_ANSWER_BYTES} bytes`))
      else chunks.push(chunk)
    })
    response.on('end', () => resolve((chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString('utf8')))
    response.on('error', reject)
  })
}

function handOn(response: http.IncomingMessage, onChunk: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    response.on('data', (chunk: Buffer) => {
      try {
        onChunk(chunk)
      } catch (error) {
        reject(error)
        response.destroy()
      }
    })
    response.on('end', resolve)
    response.on('error', reject)
  })
}

function isAddress(host: string): boolean {
  return /^[\d.]+$/.test(host) || host.includes(':')
}

function isReset(error: Error): boolean {
  return codeOf(error) === 'ECONNRESET' || codeOf(error) === 'EPIPE'
}

function timeout(): Error {
  return Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })
}
