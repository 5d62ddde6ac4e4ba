// Serves the page: static files, one stream of server-sent events per reader, and the approval of a plan. Nothing is read
// from the API server before a reader with the token is there.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import { hostname } from 'node:os'
import type { Hello } from '#dashboard'
import { decideOnPlan } from '#engine'
import { CaptError, type Clock, isCaptError, isPlainObject, messageOf, parseJson, redact, VERSION } from '#lib'
import { listen } from '../closing.ts'
import { type CertificateSource, firstOf, isLoopback, keepServing } from '../server-certificate.ts'
import { type Refusal, refuseHost, refuseOrigin, refuseToken } from './access.ts'
import { type Asset, loadAssets, SAFE_HEADERS } from './assets.ts'
import { type Channel, openChannel } from './channel.ts'
import { followCluster, followFleet } from './views.ts'
import type { World } from './world.ts'

export interface DashboardOptions {
  readonly host: string
  readonly port: number
  readonly allowWrites: boolean
  /** Needed beyond loopback. */
  readonly certificate?: CertificateSource
  /** Those that are valid now, the one for new readers first. */
  tokens(): readonly string[]
  readonly clock: Clock
  /** Connects to the API server; called when the first reader comes, and again after a failure. */
  open(): Promise<World>
}

export interface Dashboard {
  /** Opens the page; the token is behind the #, which browsers do not send. */
  readonly url: string
  /** Without the token. */
  readonly address: string
  close(): Promise<void>
}

const MAX_READERS = 64
const MAX_BODY = 4 * 1024
const PING_MS = 10_000

interface Site extends DashboardOptions {
  readonly isLocal: boolean
  readonly assets: ReadonlyMap<string, Asset>
  readonly readers: Set<Channel>
  world(): Promise<World>
  port: number
}

export async function serveDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { host, certificate, clock } = options
  if (!certificate && !isLoopback(host))
    throw new CaptError('CAPT_USAGE', `the page is served beyond this machine only with TLS: ${host}`)
  let opening: Promise<World> | undefined
  const site: Site = {
    ...options,
    isLocal: certificate === undefined,
    assets: loadAssets(),
    readers: new Set(),
    world() {
      opening ??= options.open().catch((error: unknown) => {
        opening = undefined
        throw error
      })
      return opening
    },
  }
  const answer: RequestListener = (request, response) => {
    route(site, request, response).catch((error: unknown) => fail(response, error))
  }
  const limits = { headersTimeout: 10_000, requestTimeout: 30_000 }
  const server = certificate
    ? createTlsServer({ ...firstOf(certificate), ...limits }, answer)
    : createServer(limits, answer)
  const listening = await listen(server, options, clock)
  site.port = listening.port
  const endRenewal = certificate ? keepServing(server as TlsServer, certificate, clock) : () => {}
  const known = host === '0.0.0.0' || host === '::' ? hostname() : host
  const name = known.includes(':') ? `[${known}]` : known
  const address = `${certificate ? 'https' : 'http'}://${name}:${listening.port}/`
  return {
    url: `${address}#token=${options.tokens()[0]}`,
    address,
    async close() {
      endRenewal()
      for (const reader of site.readers) reader.close()
      await listening.close(500)
    },
  }
}

async function route(site: Site, request: IncomingMessage, response: ServerResponse): Promise<void> {
  for (const [name, value] of Object.entries(SAFE_HEADERS)) response.setHeader(name, value)
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://page.invalid')
  const misdirected = refuseHost(request, site)
  if (misdirected) return refuse(response, misdirected)
  if (!pathname.startsWith('/api/')) return sendAsset(site, request, response, pathname)
  const unknown = refuseToken(request, site)
  if (unknown) return refuse(response, unknown)
  if (pathname === '/api/stream' && request.method === 'GET') return await stream(site, searchParams, response)
  if (pathname === '/api/approve' && request.method === 'POST') return await approve(site, request, response)
  refuse(response, { status: 404, message: 'There is nothing here' })
}

/** A path without a file is a view of the page. */
function sendAsset({ assets }: Site, { method }: IncomingMessage, response: ServerResponse, path: string): void {
  if (method !== 'GET' && method !== 'HEAD') {
    refuse(response, { status: 405, message: 'Only GET' })
    return
  }
  const { body, headers } = assets.get(path.slice(1)) ?? assets.get('index.html')!
  response.writeHead(200, headers).end(method === 'HEAD' ? undefined : body)
}

async function stream(site: Site, query: URLSearchParams, response: ServerResponse): Promise<void> {
  const { clock, readers, allowWrites } = site
  if (readers.size >= MAX_READERS)
    return refuse(response, { status: 503, message: `${MAX_READERS} pages are open already; close one` })
  const world = await site.world()
  if (response.destroyed) return
  const channel = openChannel(response, clock)
  readers.add(channel)
  channel.closed.addEventListener('abort', () => readers.delete(channel), { once: true })
  const { server, namespace, notices } = world
  const hello: Hello = { version: VERSION, server, ...(namespace ? { namespace } : {}), allowWrites, notices }
  channel.send('hello', hello)
  const [id, run] = [query.get('cluster'), query.get('run')]
  if (id === null) followFleet(world, channel, clock)
  else followCluster(world, channel, clock, { id, ...(run === null ? {} : { run }) })
  watchUpstream(world, channel, clock)
}

function watchUpstream(world: World, channel: Channel, clock: Clock): void {
  let last = ''
  const ask = async () => {
    const message = await world.ping()
    if (channel.closed.aborted) return
    if (message !== last) channel.send('upstream', { answers: message === '', message })
    last = message
    clock.after(PING_MS, ask)
  }
  clock.after(PING_MS, ask)
}

/** With the permissions of the kubeconfig, for exactly the plan that was shown. */
async function approve(site: Site, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const foreign = refuseOrigin(request, site)
  if (foreign) return refuse(response, foreign)
  if (!site.allowWrites)
    return refuse(response, { status: 403, message: 'The page is read-only; start it with --allow-writes' })
  const body = parseJson(await readBody(request))
  const { namespace, name, plan, deny } = isPlainObject(body) ? body : {}
  if (typeof namespace !== 'string' || typeof name !== 'string' || typeof plan !== 'string')
    return refuse(response, { status: 400, message: 'namespace, name and plan are needed' })
  const { objects } = await site.world()
  const decided = await decideOnPlan(objects, { namespace, name }, { plan, deny: deny === true }, site.clock.now())
  sendJson(response, 200, { hash: decided.hash, user: decided.user, isSuspended: decided.isSuspended })
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MAX_BODY) throw new CaptError('CAPT_USAGE', 'The request is too large')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy()
  const known = isCaptError(error)
  const more = known ? { code: error.code, ...(error.hint ? { hint: error.hint } : {}) } : {}
  sendJson(response, known ? 409 : 500, { message: redact(messageOf(error)), ...more })
}

const refuse = (response: ServerResponse, { status, message }: Refusal): void => sendJson(response, status, { message })

function sendJson(response: ServerResponse, status: number, data: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(data))
}
