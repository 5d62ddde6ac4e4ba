// The manifest of an adopted cluster: three objects of Cluster API, which only read unless there is a template for the control plane,
// and a pipeline for the Karpenter it takes over. Pure.
import { toYamlDocuments } from '#api'
import { clusterLabels, type ReleaseFacts, renderPipeline } from '#karpenter'

interface AdoptedCluster {
  /** Of the Cluster. */
  readonly name: string
  readonly namespace: string
  readonly region: string
  /** As EKS has it. */
  readonly eks: { readonly name: string; readonly version: string; readonly vpcId: string }
  readonly flux: boolean
  readonly release: ReleaseFacts | undefined
  readonly roleArn: string | undefined
  /** The template that made it: the cluster is managed as a whole. */
  readonly template?: string | undefined
}

const INFRASTRUCTURE = 'infrastructure.cluster.x-k8s.io'
const CONTROL_PLANE = 'controlplane.cluster.x-k8s.io'

export function adoptedManifest(cluster: AdoptedCluster): string {
  const { name, namespace, region, eks, flux, release, roleArn, template } = cluster
  const labels = release ? clusterLabels(name) : flux ? { 'fluxcd.io/enabled': 'true' } : {}
  const metadata = { name, namespace }
  const documents = [
    {
      apiVersion: `${INFRASTRUCTURE}/v1beta1`,
      kind: 'CAPTCluster',
      metadata,
      spec: {
        region,
        clusterName: eks.name,
        existingVpcId: eks.vpcId,
        ...(roleArn === undefined ? {} : { identity: { roleArn } }),
      },
    },
    {
      apiVersion: `${CONTROL_PLANE}/v1beta1`,
      kind: 'CAPTControlPlane',
      metadata,
      spec: {
        version: eks.version,
        ...(template === undefined ? { policy: 'Adopted' } : { workspaceTemplateRef: { name: template } }),
      },
    },
    ...(release ? [renderPipeline(namespace, name, release, 'Keep')] : []),
    {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { ...metadata, ...(Object.keys(labels).length > 0 ? { labels } : {}) },
      spec: {
        infrastructureRef: { apiGroup: INFRASTRUCTURE, kind: 'CAPTCluster', name },
        controlPlaneRef: { apiGroup: CONTROL_PLANE, kind: 'CAPTControlPlane', name },
      },
    },
  ]
  return toYamlDocuments(documents)
}
