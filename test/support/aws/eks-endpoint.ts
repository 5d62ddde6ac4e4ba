// The API endpoint of an EKS cluster: it admits clients with a token of the AWS authenticator, notes the tokens, and
// passes requests on to an API server with that server's own token.
import { readFileSync } from 'node:fs'
import { type Agent, createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { parse } from 'yaml'
import { systemClock } from '#lib'
import { selfSigned } from '#server'

export interface EksEndpoint {
  readonly url: string
  /** PEM, base64. */
  readonly caData: string
  /** Tokens that were shown, in order. */
  readonly tokens: readonly string[]
  /** Called with every request that changes something, before it is passed on; false loses it. */
  onWrite: ((method: string, path: string) => boolean | undefined) | undefined
  close(): Promise<void>
}

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }]
  readonly users: readonly [{ readonly user: { readonly token: string } }]
}

export async function startEksEndpoint(kubeconfig: string): Promise<EksEndpoint> {
  const { clusters, users } = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig
  const target = clusters[0].cluster['server']!
  const ca = Buffer.from(clusters[0].cluster['certificate-authority-data']!, 'base64')
  const { certificate, key } = selfSigned(['localhost'], ['127.0.0.1'], systemClock)()!
  const tokens: string[] = []
  const endpoint: EksEndpoint = {
    url: '',
    caData: Buffer.from(certificate).toString('base64'),
    tokens,
    onWrite: undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  const server = createServer({ cert: certificate, key }, (incoming, answer) => {
    const token = /^Bearer (k8s-aws-v1\..+)$/.exec(incoming.headers.authorization ?? '')?.[1]
    if (token === undefined) return void answer.writeHead(401).end()
    if (!tokens.includes(token)) tokens.push(token)
    const isLost = incoming.method !== 'GET' && endpoint.onWrite?.(incoming.method ?? '', incoming.url ?? '') === false
    if (isLost) return void answer.destroy()
    const headers = { ...incoming.headers, host: new URL(target).host, authorization: `Bearer ${users[0].user.token}` }
    const options = { method: incoming.method, headers, ca, agent: false as unknown as Agent }
    const outgoing = request(new URL(`${target.replace(/\/$/, '')}${incoming.url}`), options, (found) => {
      answer.writeHead(found.statusCode!, found.headers)
      found.pipe(answer)
    })
    outgoing.on('error', () => answer.destroy())
    answer.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(endpoint, { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` })
}
