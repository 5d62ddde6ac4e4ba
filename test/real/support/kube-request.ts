// The smallest client that reaches a real API server: a kubeconfig with a token or a client certificate, JSON in and out.
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { parse } from 'yaml'

export interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
  /** What the server had to remark about an accepted request; empty when nothing. */
  readonly warnings: string
}
export interface Server {
  call(method: string, path: string, body?: unknown, contentType?: string): Promise<Answer>
  close(): void
}

export function openServer(kubeconfigPath: string): Server {
  const config = parse(readFileSync(kubeconfigPath, 'utf8'))
  const { cluster } = config.clusters[0]
  const { user } = config.users[0]
  const decode = (text: string | undefined) => (text === undefined ? undefined : Buffer.from(text, 'base64'))
  const identity = user.token === undefined ? {} : { authorization: `Bearer ${user.token}` }
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 8,
    ca: decode(cluster['certificate-authority-data']),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
  })
  const base = new URL(cluster.server)
  return {
    call: (method, path, body, contentType = 'application/json') =>
      new Promise((resolve, reject) => {
        const text = body === undefined ? undefined : JSON.stringify(body)
        const headers =
          text === undefined ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }
        const sent = request(
          {
            host: base.hostname,
            port: base.port,
            method,
            path,
            agent,
            headers: { accept: 'application/json', ...identity, ...headers },
          },
          (response) => {
            let answer = ''
            response.setEncoding('utf8')
            response.on('data', (chunk: string) => (answer += chunk))
            response.on('error', reject)
            response.on('end', () =>
              resolve({
                status: response.statusCode ?? 0,
                body: toBody(answer),
                warnings: response.headers.warning ?? '',
              }),
            )
          },
        )
        sent.on('error', reject)
        sent.end(text)
      }),
    close: () => agent.destroy(),
  }
}

/** What is not served is refused in plain words. */
function toBody(text: string): Record<string, unknown> {
  if (!text.trimStart().startsWith('{')) return { message: text }
  return JSON.parse(text) as Record<string, unknown>
}
