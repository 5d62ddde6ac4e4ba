// /metrics over TLS, for those whom the API server lets read it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { Clock, Log } from '#lib'
import { type Listening, listen } from './closing.ts'
import type { PrometheusMetrics } from './prometheus.ts'
import type { Review, Verdict } from './review.ts'
import { type CertificateSource, firstOf, keepServing } from './server-certificate.ts'

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
const REFUSALS: Record<Exclude<Verdict, 'allowed'>, readonly [number, string]> = {
  unauthenticated: [401, 'Send a service account token: Authorization: Bearer …'],
  forbidden: [403, `The token's owner may not get ${PATH}; bind a ClusterRole with nonResourceURLs: ["${PATH}"]`],
  unknown: [503, 'The API server could not be asked about the token; try again'],
}

export async function serveMetrics(options: MetricsOptions): Promise<Listening> {
  const { certificate, clock, log, host = '127.0.0.1', port } = options
  const server = createServer(firstOf(certificate), (request, response) => {
    void answer(options, request, response)
  })
  const listening = await listen(server, { host, port }, clock)
  const endRenewal = keepServing(server, certificate, clock, () =>
    log.info('Took a new certificate for the metrics server'),
  )
  return {
    port: listening.port,
    close(graceMs) {
      endRenewal()
      return listening.close(graceMs)
    },
  }
}

async function answer(options: MetricsOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const answer = (status: number, text: string, headers: Record<string, string> = {}) =>
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(text)
  if (request.url?.split('?')[0] !== PATH) return void answer(404, `Ask ${PATH}\n`)
  if (request.method !== 'GET') return void answer(405, 'Only GET\n', { allow: 'GET' })

  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  const verdict = await options.review(token, PATH)
  if (verdict !== 'allowed') {
    const [status, text] = REFUSALS[verdict]
    return void answer(status, `${text}\n`, status === 401 ? { 'www-authenticate': 'Bearer' } : {})
  }
  try {
    answer(200, await options.metrics.text(), { 'content-type': options.metrics.contentType })
  } catch {
    options.log.error('Could not gather metrics')
    answer(500, 'Could not gather metrics\n')
  }
}
