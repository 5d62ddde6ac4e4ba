// A kubeconfig with one cluster, one user and one context, as an object: callers write it as YAML or as JSON, which every
// reader of YAML takes.
interface KubeconfigInput {
  /** Names the cluster, the user and the context. */
  readonly name: string
  readonly server: string
  /** PEM, base64. */
  readonly caData?: string | undefined
  /** A token, a file with one, a certificate, or a credential plugin, in the fields of a kubeconfig. */
  readonly user: Readonly<Record<string, unknown>>
  readonly namespace?: string | undefined
}

export function toKubeconfig({ name, server, caData, user, namespace }: KubeconfigInput): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server, ...(caData ? { 'certificate-authority-data': caData } : {}) } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, ...(namespace ? { namespace } : {}) } }],
  }
}
