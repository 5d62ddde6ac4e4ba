// The file that lets kubectl, terraform and people in.
import { stringify } from 'yaml'

export interface Access {
  readonly name: string
  readonly url: string
  readonly token: string
  readonly caPem: string
}

export function renderKubeconfig({ name, url, token, caPem }: Access): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: url, 'certificate-authority-data': Buffer.from(caPem).toString('base64') } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  })
}
