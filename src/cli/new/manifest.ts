// The manifest of a new cluster out of a few answers. Pure.
import { toYamlDocuments } from '#api'

interface Answers {
  readonly name: string
  readonly region: string
  readonly version: string
  /** Address block of a VPC that is made, or one that exists. */
  readonly vpc: { readonly cidr: string } | { readonly id: string }
  readonly karpenter: boolean
}

/** Why an answer cannot be; undefined when it is fine. */
export const CHECKS = {
  name: (text: string) =>
    /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text)
      ? undefined
      : 'a name has lower-case letters, digits and hyphens, starts with a letter, and has at most 63 characters',
  region: (text: string) =>
    /^[a-z]{2,4}(-[a-z]+)+-\d{1,2}$/.test(text) ? undefined : 'an AWS region, such as eu-west-1',
  version: (text: string) => (/^v?1\.\d+$/.test(text) ? undefined : 'a minor version of Kubernetes, such as 1.35'),
  vpc: (text: string) =>
    /^vpc-[0-9a-f]+$/.test(text) || isBlock(text)
      ? undefined
      : 'an IPv4 block of /16 to /20, such as 10.0.0.0/16, or the id of a VPC, such as vpc-0123abcd',
} as const

function isBlock(text: string): boolean {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(text)
  if (!match) return false
  const [, ...numbers] = match.map(Number)
  return numbers.slice(0, 4).every((one) => one <= 255) && numbers[4]! >= 16 && numbers[4]! <= 20
}

export const vpcOf = (text: string): Answers['vpc'] => (text.startsWith('vpc-') ? { id: text } : { cidr: text })

const INFRASTRUCTURE = 'infrastructure.cluster.x-k8s.io'
const CONTROL_PLANE = 'controlplane.cluster.x-k8s.io'

export function clusterManifest({ name, region, version, vpc, karpenter }: Answers): string {
  const labels = karpenter
    ? { labels: { 'fluxcd.io/enabled': 'true', 'installation.appthrust.com/eks-karpenter': 'enabled' } }
    : {}
  const documents = [
    {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name, ...labels },
      spec: {
        infrastructureRef: { apiGroup: INFRASTRUCTURE, kind: 'CAPTCluster', name },
        controlPlaneRef: { apiGroup: CONTROL_PLANE, kind: 'CAPTControlPlane', name },
      },
    },
    {
      apiVersion: `${INFRASTRUCTURE}/v1beta1`,
      kind: 'CAPTCluster',
      metadata: { name },
      spec: {
        region,
        ...('id' in vpc
          ? { existingVpcId: vpc.id }
          : { vpcTemplateRef: { name: 'vpc' }, vpcConfig: { cidr: vpc.cidr } }),
      },
    },
    {
      apiVersion: `${CONTROL_PLANE}/v1beta1`,
      kind: 'CAPTControlPlane',
      metadata: { name },
      spec: { version: version.replace(/^v/, ''), workspaceTemplateRef: { name: 'eks-controlplane' } },
    },
  ]
  return toYamlDocuments(documents)
}
