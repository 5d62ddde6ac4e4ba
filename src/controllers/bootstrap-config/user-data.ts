// User data by which an instance joins an EKS cluster: a NodeConfig of nodeadm in a MIME message, as AL2023 reads it.
import type { CAPTBootstrapConfig } from '#api'

export interface JoinFacts {
  readonly name: string
  readonly endpoint: string
  /** PEM, base64. */
  readonly caData: string
  readonly serviceCidr: string
}

const BOUNDARY = 'capt-node-config'

export function nodeUserData(
  { name, endpoint, caData, serviceCidr }: JoinFacts,
  { spec }: CAPTBootstrapConfig,
): string {
  const { config, flags } = spec.kubelet ?? {}
  const kubelet = { ...(config ? { config } : {}), ...(flags?.length ? { flags } : {}) }
  const nodeConfig = {
    apiVersion: 'node.eks.aws/v1alpha1',
    kind: 'NodeConfig',
    spec: {
      cluster: { name, apiServerEndpoint: endpoint, certificateAuthority: caData, cidr: serviceCidr },
      ...(Object.keys(kubelet).length > 0 ? { kubelet } : {}),
    },
  }
  return [
    'MIME-Version: 1.0',
    `Content-Type: multipart/mixed; boundary="${BOUNDARY}"`,
    '',
    `--${BOUNDARY}`,
    'Content-Type: application/node.eks.aws',
    '',
    // YAML readers take JSON.
    JSON.stringify(nodeConfig, null, 2),
    '',
    `--${BOUNDARY}--`,
    '',
  ].join('\n')
}
