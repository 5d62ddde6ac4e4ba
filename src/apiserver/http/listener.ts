// HTTPS in, realms behind: finds the realm by its path, checks the token, hands the request on and sends the answer.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { RealmState } from '../realm.ts'
import { forbidden, notAcceptable, StatusError, unauthorized } from '../status.ts'
import { sendAnswer } from './answer.ts'
import { dispatch, EMPTY_OPENAPI_V2_PROTOBUF, OPENAPI_V2_PROTOBUF, toStatusError, versionInfo } from './dispatch.ts'
import { negotiate } from './negotiate.ts'

interface ListenerOptions {
  /** The realm whose path is the longest beginning of this one. */
  realmFor(path: string): RealmState | undefined
  isReady(): boolean
  /** Everything in the data folder, for backups; served by the root realm alone. */
  snapshot(): Promise<AsyncIterable<Buffer>>
  /** A watch is notified when it ends. */
  onRequest?: (request: { method: string; path: string; query: string; code: number }) => void
  log(message: string, error: unknown): void
}

/** No resource: what it answers is no Kubernetes object. */
export const SNAPSHOT_PATH = '/snapshot'

export function createListener(options: ListenerOptions): RequestListener {
  return (request, response) => {
    void handle(request, response, options)
  }
}

async function handle(request: IncomingMessage, response: ServerResponse, options: ListenerOptions): Promise<void> {
  const url = parseUrl(request.url ?? '/')
  const warnings: string[] = []
  const method = request.method ?? 'GET'
  const { pathname: path, search: query } = url
  response.on('finish', () => options.onRequest?.({ method, path, query, code: response.statusCode }))
  const form = negotiate(request.headers.accept)
  try {
    const realm = options.realmFor(url.pathname)
    if (!realm) throw new StatusError(404, 'NotFound', `nothing is served below ${url.pathname}`)
    const below = url.pathname.slice(realm.path.length)
    const parts = below
      .split('/')
      .filter((part) => part !== '')
      .map(decode)
    const probe = probeAnswer(parts, options.isReady())
    if (probe) return sendAnswer(response, probe, [], false)
    if (!isAuthorized(request, realm)) throw unauthorized()
    refuseImpersonation(request)
    if (realm.path === '' && below === SNAPSHOT_PATH && method === 'GET') {
      const content = await options.snapshot()
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'cache-control': 'no-store' })
      await pipeline(content, response)
      return
    }
    if (below === '/openapi/v2' && request.headers.accept?.includes(OPENAPI_V2_PROTOBUF)) {
      // The name that is asked for has an @, which no media type may have.
      const type = OPENAPI_V2_PROTOBUF.replace('@', '.')
      response.writeHead(200, { 'content-type': type }).end(EMPTY_OPENAPI_V2_PROTOBUF)
      return
    }
    if (!form) {
      const message = 'only the following media types are accepted: application/json, application/yaml'
      throw notAcceptable(message)
    }
    const exchange = { realm, method, parts, query: url.searchParams, form, request, response, warnings }
    const answer = await dispatch(exchange)
    if (answer) sendAnswer(response, answer, warnings, form.is === 'yaml')
  } catch (error) {
    // The client left in the middle of its own request: there is nobody to answer.
    if (request.destroyed && !request.complete) return
    const { status } = toStatusError(error, options.log)
    if (response.headersSent) return void response.destroy()
    const wait = status.details?.retryAfterSeconds
    // A body that was not read to its end would be taken for the next request.
    const headers = {
      ...(wait ? { 'retry-after': `${wait}` } : {}),
      ...(request.complete ? {} : { connection: 'close' }),
    }
    sendAnswer(response, { code: status.code, value: status, headers }, warnings, form?.is === 'yaml')
  }
}

/** There is one identity here: a request that acts as another user would have the rights of the administrator. */
function refuseImpersonation({ headers }: IncomingMessage): void {
  if (!Object.keys(headers).some((name) => name.startsWith('impersonate-'))) return
  const user = headers['impersonate-user']
  const why = 'the embedded API has one identity and cannot act as another; leave out --as and --as-group'
  throw forbidden({ group: '', plural: 'users' }, typeof user === 'string' ? user : '', why)
}

function parseUrl(text: string): URL {
  try {
    return new URL(text, 'https://server')
  } catch {
    return new URL('https://server/')
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new StatusError(400, 'BadRequest', `the path part ${part} is not percent-encoded correctly`)
  }
}

/** What may be asked without a token. */
function probeAnswer(parts: readonly string[], isReady: boolean) {
  const [first, part] = parts
  if (parts.length > 2 || (part !== undefined && part !== 'ping')) return undefined
  if (first === 'livez' || first === 'healthz') return { code: 200, value: 'ok' }
  if (first === 'readyz') return isReady ? { code: 200, value: 'ok' } : { code: 503, value: 'not ready' }
  if (first === 'version' && parts.length === 1) return { code: 200, value: versionInfo() }
  return undefined
}

function isAuthorized(request: IncomingMessage, { tokens }: RealmState): boolean {
  const match = /^Bearer\s+(\S+)\s*$/i.exec(request.headers.authorization ?? '')
  return match !== null && tokens.accepts(match[1]!)
}
