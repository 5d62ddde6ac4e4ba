// Outputs of the control plane's template: address and certificate authority of the API server. Sensitive outputs come
// from the connection Secret, the others from the status of the apply.
import type { Endpoint, Secret } from '#api'
import { CaptError, type Json } from '#lib'
import type { ApplyFacts } from '../shared/apply.ts'

/** Host without scheme; the port of the URL, 443 when it names none. Undefined when it is no URL. */
export function toEndpoint(output: Json | undefined): Endpoint | undefined {
  if (typeof output !== 'string' || output === '') return undefined
  const text = output.includes('://') ? output : `https://${output}`
  if (!URL.canParse(text)) return undefined
  const { hostname, port } = new URL(text)
  return { host: hostname, port: port === '' ? 443 : Number(port) }
}

export interface Connection {
  /** A whole kubeconfig, when the template makes one itself. */
  readonly kubeconfig: string | undefined
  readonly url: string
  /** PEM, base64. */
  readonly caData: string
  /**
   * The cluster that tokens are signed for. Never from the connection Secret: a user who may edit Secrets would get a
   * token of capt's own identity for any cluster.
   */
  readonly clusterName: string
}

export function toConnection(facts: ApplyFacts, secret: Secret | undefined, fallbackName: string): Connection {
  const read = (name: string): string | undefined => {
    const encoded = secret?.data?.[name]
    if (encoded !== undefined) return Buffer.from(encoded, 'base64').toString('utf8')
    const plain = facts.outputs[name]
    return typeof plain === 'string' ? plain : undefined
  }
  const name = facts.outputs['cluster_name']
  const url = read('cluster_endpoint')
  const caData = read('cluster_certificate_authority_data')
  if (!url) throw outputMissing('cluster_endpoint')
  if (!caData) throw outputMissing('cluster_certificate_authority_data')
  return {
    kubeconfig: read('kubeconfig') || undefined,
    url: url.includes('://') ? url : `https://${url}`,
    caData: caData.trim(),
    clusterName: typeof name === 'string' && name !== '' ? name : fallbackName,
  }
}

function outputMissing(name: string): CaptError {
  return new CaptError('CAPT_OUTPUT_MISSING', `The control plane template has no output ${name}`, {
    hint: `add output "${name}" to the WorkspaceTemplate`,
  })
}
