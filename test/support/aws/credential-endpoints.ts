// Where pods and instances get credentials inside AWS: the agent of EKS Pod Identity, and the metadata service of EC2
// (version 2, which wants a token first). Both on loopback, answering with the same session.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { planted } from '../secrets/planted.ts'

export interface Session {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string
}

export interface CredentialEndpoints {
  readonly url: string
  /** Paths that were asked with what they demand. */
  readonly asked: readonly string[]
  close(): Promise<void>
}

export const POD_TOKEN = planted('of-the-pod')
const INSTANCE_TOKEN = planted('of-the-instance')
const ROLES = '/latest/meta-data/iam/security-credentials/'

export async function startCredentialEndpoints(session: Session): Promise<CredentialEndpoints> {
  const asked: string[] = []
  const server = createServer((request, answer) => {
    const { method, url = '', headers } = request
    const end = (text: string) => {
      asked.push(url)
      answer.writeHead(200).end(text)
    }
    if (url === '/v1/credentials' && headers.authorization === POD_TOKEN) return end(toJson(session))
    if (method === 'PUT' && url === '/latest/api/token') return end(INSTANCE_TOKEN)
    const isKnown = headers['x-aws-ec2-metadata-token'] === INSTANCE_TOKEN
    if (isKnown && url === ROLES) return end('capt')
    if (isKnown && url === `${ROLES}capt`) return end(toJson(session))
    answer.writeHead(isKnown ? 404 : 401).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const toJson = ({ accessKeyId, secretAccessKey, sessionToken }: Session): string =>
  JSON.stringify({
    Code: 'Success',
    Type: 'AWS-HMAC',
    AccessKeyId: accessKeyId,
    SecretAccessKey: secretAccessKey,
    Token: sessionToken,
    LastUpdated: new Date().toISOString(),
    Expiration: new Date(Date.now() + 6 * 3_600_000).toISOString(),
  })
