// What probes ask. /healthz: is the process worth keeping; /readyz: may it be counted on. Every answer that is not
// fine says why, one line per check.
import { createServer, type RequestListener } from 'node:http'
import type { Clock } from '#lib'
import { type Listening, listen } from './closing.ts'

export interface Check {
  readonly name: string
  /** Undefined when all is well, otherwise one line that says what is not. */
  reason(): string | undefined
}

export interface HealthOptions {
  readonly live: readonly Check[]
  readonly ready: readonly Check[]
  readonly clock: Clock
  readonly host?: string
  readonly port: number
}

export function serveHealth(options: HealthOptions): Promise<Listening> {
  const { host = '127.0.0.1', port, clock } = options
  return listen(createServer(answerHealth(options)), { host, port }, clock)
}

export function answerHealth({ live, ready }: Pick<HealthOptions, 'live' | 'ready'>): RequestListener {
  return (request, response) => {
    const path = request.url?.split('?')[0]
    const checks = path === '/healthz' ? live : path === '/readyz' ? ready : undefined
    const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }
    if (!checks) {
      response.writeHead(404, headers).end('Ask /healthz or /readyz\n')
      return
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { ...headers, allow: 'GET, HEAD' }).end('Only GET\n')
      return
    }
    const results = checks.map(({ name, reason }) => ({ name, reason: reason() }))
    const failed = results.some((result) => result.reason !== undefined)
    const lines = results.map((result) =>
      result.reason === undefined ? `ok   ${result.name}` : `fail ${result.name}: ${result.reason}`,
    )
    response.writeHead(failed ? 503 : 200, headers).end(`${[...lines, failed ? 'not ok' : 'ok'].join('\n')}\n`)
  }
}

/** A check that fails with the given words until the promise has resolved. */
export function until(name: string, promise: Promise<unknown>, words: string): Check {
  let reason: string | undefined = words
  promise.then(
    () => {
      reason = undefined
    },
    () => {
      reason = `${words} (and will not any more)`
    },
  )
  return { name, reason: () => reason }
}
