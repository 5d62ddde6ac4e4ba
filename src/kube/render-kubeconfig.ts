// Writes a kubeconfig with one cluster, one user and one context. Every value is quoted as JSON, which YAML reads too.
export interface KubeconfigParts {
  readonly server: string
  /** PEM. */
  readonly ca?: string
  readonly serverName?: string
  /** Names the cluster and the context. */
  readonly cluster: string
  readonly user?: string
  readonly namespace?: string
  readonly auth: TokenAuth | ExecAuth | CertificateAuth
}

export interface TokenAuth {
  readonly token: string
}

export interface CertificateAuth {
  /** PEM. */
  readonly certificate: string
  readonly key: string
}

export interface ExecAuth {
  readonly command: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly installHint?: string
}

export function toKubeconfigText(parts: KubeconfigParts): string {
  const { server, ca, serverName, cluster, namespace, user = cluster } = parts
  return [
    'apiVersion: v1',
    'kind: Config',
    'clusters:',
    `- name: ${quoted(cluster)}`,
    '  cluster:',
    `    server: ${quoted(server)}`,
    ...(serverName ? [`    tls-server-name: ${quoted(serverName)}`] : []),
    ...(ca ? [`    certificate-authority-data: ${base64(ca)}`] : []),
    'users:',
    `- name: ${quoted(user)}`,
    '  user:',
    ...userLines(parts.auth).map((line) => `    ${line}`),
    'contexts:',
    `- name: ${quoted(cluster)}`,
    '  context:',
    `    cluster: ${quoted(cluster)}`,
    `    user: ${quoted(user)}`,
    ...(namespace ? [`    namespace: ${quoted(namespace)}`] : []),
    `current-context: ${quoted(cluster)}`,
    '',
  ].join('\n')
}

function userLines(auth: KubeconfigParts['auth']): string[] {
  if ('token' in auth) return [`token: ${quoted(auth.token)}`]
  if ('certificate' in auth) {
    return [`client-certificate-data: ${base64(auth.certificate)}`, `client-key-data: ${base64(auth.key)}`]
  }
  const env = Object.entries(auth.env ?? {}).flatMap(([name, value]) => [
    `  - name: ${quoted(name)}`,
    `    value: ${quoted(value)}`,
  ])
  return [
    'exec:',
    '  apiVersion: client.authentication.k8s.io/v1',
    `  command: ${quoted(auth.command)}`,
    ...(auth.args?.length ? ['  args:', ...auth.args.map((arg) => `  - ${quoted(arg)}`)] : []),
    ...(env.length > 0 ? ['  env:', ...env] : []),
    '  interactiveMode: IfAvailable',
    '  provideClusterInfo: false',
    ...(auth.installHint ? [`  installHint: ${quoted(auth.installHint)}`] : []),
  ]
}

function quoted(text: string): string {
  return JSON.stringify(text)
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}
