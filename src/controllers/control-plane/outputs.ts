// What the control plane's template answered: where the API server is and how to trust it. Sensitive outputs come from
// the connection Secret, the others from the apply's status.
import type { Endpoint, Secret } from '#api'
import { CaptError, type Json } from '#lib'
import type { ApplyFacts } from '../cluster/apply.ts'

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
  readonly clusterName: string
}

export function toConnection(facts: ApplyFacts, secret: Secret | undefined, fallbackName: string): Connection {
  const read = (name: string): string | undefined => {
    const encoded = secret?.data?.[name]
    if (encoded !== undefined) return Buffer.from(encoded, 'base64').toString('utf8')
    const plain = facts.outputs[name]
    return typeof plain === 'string' ? plain : undefined
  }
  const url = read('cluster_endpoint')
  const caData = read('cluster_certificate_authority_data')
  if (!url) throw outputMissing('cluster_endpoint')
  if (!caData) throw outputMissing('cluster_certificate_authority_data')
  return {
    kubeconfig: read('kubeconfig') || undefined,
    url: url.includes('://') ? url : `https://${url}`,
    caData: caData.trim(),
    clusterName: read('cluster_name') || fallbackName,
  }
}

function outputMissing(name: string): CaptError {
  return new CaptError('CAPT_OUTPUT_MISSING', `The control plane template has no output ${name}`, {
    hint: `add output "${name}" to the WorkspaceTemplate`,
  })
}
