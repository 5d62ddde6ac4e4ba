// A webhook on the loopback: it refuses what is not signed, answers the first attempt of each notice with a 500 and keeps the next.
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { planted } from '../../support/secrets/planted.ts'

export interface Posted {
  readonly text: string
  readonly capt: Readonly<Record<'id' | 'type' | 'namespace' | 'reason' | 'message', string>> & {
    readonly cluster?: string
    readonly object: { readonly kind: string; readonly name: string }
  }
}

export interface WebhookSink {
  /** Holds a planted secret, as the address of a webhook does. */
  readonly url: string
  readonly signingKey: string
  /** What was refused with a 500, and what was taken, in order. */
  readonly begun: readonly Posted[]
  readonly posts: readonly Posted[]
  close(): void
}

export async function startWebhookSink(): Promise<WebhookSink> {
  const signingKey = planted('signing-key')
  const begun: Posted[] = []
  const posts: Posted[] = []
  const take = (headers: Readonly<Record<string, unknown>>, body: string): number => {
    const signature = createHmac('sha256', signingKey).update(`${headers['x-capt-time']}.${body}`).digest('hex')
    const posted = JSON.parse(body) as Posted
    if (headers['x-capt-signature'] !== `sha256=${signature}` || headers['x-capt-id'] !== posted.capt.id) return 403
    const isFirst = !begun.some(({ capt }) => capt.id === posted.capt.id)
    const kept = isFirst ? begun : posts
    kept.push(posted)
    return isFirst ? 500 : 204
  }
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => response.writeHead(take(request.headers, body)).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}/${planted('hook')}`, signingKey, begun, posts, close }
}
