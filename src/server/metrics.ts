// /metrics over TLS, for those whom the API server lets read it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { CaptError, type Clock, type Log, sleep } from '#lib'
import { type Listening, listen } from './closing.ts'
import type { PrometheusMetrics } from './prometheus.ts'
import type { Review, Verdict } from './review.ts'
import type { CertificateSource } from './server-certificate.ts'

export interface MetricsOptions {
  readonly metrics: Pick<PrometheusMetrics, 'text' | 'contentType'>
  readonly review: Review
  readonly certificate: CertificateSource
  readonly clock: Clock
  readonly log: Log
  readonly host?: string
  readonly port: number
}

const PATH = '/metrics'
const REFRESH_MS = 60_000
const REFUSALS: Record<Exclude<Verdict, 'allowed'>, readonly [number, string]> = {
  unauthenticated: [401, 'Send a service account token: Authorization: Bearer …'],
  forbidden: [403, `The token's owner may not get ${PATH}; bind a ClusterRole with nonResourceURLs: ["${PATH}"]`],
  unknown: [503, 'The API server could not be asked about the token; try again'],
}

export async function serveMetrics(options: MetricsOptions): Promise<Listening> {
  const { certificate, clock, log, host = '127.0.0.1', port } = options
  const first = certificate()
  if (!first) throw new CaptError('CAPT_CERTIFICATE_UNREADABLE', 'The metrics server has no certificate')
  const server = createServer({ cert: first.certificate, key: first.key }, (request, response) => {
    void answer(options, request, response)
  })
  const stop = new AbortController()
  const listening = await listen(server, { host, port }, clock)
  void refresh()

  async function refresh(): Promise<void> {
    for (;;) {
      try {
        await sleep(clock, REFRESH_MS, stop.signal)
      } catch {
        return
      }
      const next = certificate()
      if (!next) continue
      server.setSecureContext({ cert: next.certificate, key: next.key })
      log.info('Took a new certificate for the metrics server')
    }
  }

  return {
    port: listening.port,
    close(graceMs) {
      stop.abort()
      return listening.close(graceMs)
    },
  }
}

async function answer(options: MetricsOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const say = (status: number, text: string, headers: Record<string, string> = {}) =>
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(text)
  if (request.url?.split('?')[0] !== PATH) return void say(404, `Ask ${PATH}\n`)
  if (request.method !== 'GET') return void say(405, 'Only GET\n', { allow: 'GET' })

  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  const verdict = await options.review(token, PATH)
  if (verdict !== 'allowed') {
    const [status, text] = REFUSALS[verdict]
    return void say(status, `${text}\n`, status === 401 ? { 'www-authenticate': 'Bearer' } : {})
  }
  try {
    say(200, await options.metrics.text(), { 'content-type': options.metrics.contentType })
  } catch {
    options.log.error('Could not gather metrics')
    say(500, 'Could not gather metrics\n')
  }
}
