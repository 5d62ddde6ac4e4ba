// What probes ask. /healthz: is the process worth keeping; /readyz: may it be counted on. Every answer that is not
// fine says why, one line per check.
import { createServer, type RequestListener } from 'node:http'
import { type Clock, sleep } from '#lib'
import { type Listening, listen } from './closing.ts'

export interface Check {
  readonly name: string
  /** Undefined when all is well, otherwise one line that says what is not. */
  reason(): string | undefined
}

interface HealthOptions {
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

function answerHealth({ live, ready }: Pick<HealthOptions, 'live' | 'ready'>): RequestListener {
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

const BEAT_MS = 1_000
const STALL_MS = 30_000

/** A check that fails when the event loop did not turn for thirty seconds. While it stands still no probe is answered. */
export function eventLoop(clock: Clock, signal: AbortSignal): Check {
  let last = clock.monotonic()
  const beat = async (): Promise<void> => {
    for (;;) {
      await sleep(clock, BEAT_MS, signal)
      last = clock.monotonic()
    }
  }
  beat().catch(() => undefined)
  const reason = () => {
    const seconds = Math.floor((clock.monotonic() - last) / 1000)
    return seconds * 1000 < STALL_MS ? undefined : `it stood still for ${seconds} seconds`
  }
  return { name: 'event-loop', reason }
}

/** Requests and AWS calls end by their own timeouts within this time, also while a server does not answer. */
export const RECONCILE_DEADLINE_MS = 15 * 60_000

interface Longest {
  readonly controller: string
  readonly key: { readonly namespace?: string; readonly name: string }
  readonly tookMs: number
}

/** A check that fails when a reconcile takes longer than its deadline. */
export function withinDeadline(longest: () => Longest | undefined): Check {
  const reason = () => {
    const one = longest()
    if (!one || one.tookMs <= RECONCILE_DEADLINE_MS) return undefined
    const name = one.key.namespace === undefined ? one.key.name : `${one.key.namespace}/${one.key.name}`
    return `${one.controller} works on ${name} for ${Math.floor(one.tookMs / 1000)} seconds`
  }
  return { name: 'reconciles', reason }
}

/** A check of the API server. Asked when a probe comes, so that the answer is the one of the probe before. */
export function answering(name: string, ping: () => Promise<boolean>): Check {
  let isAsking = false
  let doesAnswer = true
  const ask = async (): Promise<void> => {
    isAsking = true
    doesAnswer = await ping().catch(() => false)
    isAsking = false
  }
  const reason = () => {
    if (!isAsking) void ask()
    return doesAnswer ? undefined : 'it does not answer'
  }
  return { name, reason }
}
