// Which CustomResourceDefinitions the Karpenter chart has brought, by version. Helm installs them from `crds/` and never
// deletes them, so a removal of Karpenter needs the whole list, whichever versions were installed over time.

interface KarpenterDefinition {
  readonly name: string
  /** First line of the chart that brings it; in every version since 1.0 when left out. */
  readonly since?: string
  /** The API belongs to Kubernetes, not to Karpenter: another autoscaler may use it. */
  readonly isShared?: true
}

export const KARPENTER_DEFINITIONS: readonly KarpenterDefinition[] = [
  { name: 'nodepools.karpenter.sh' },
  { name: 'nodeclaims.karpenter.sh' },
  { name: 'ec2nodeclasses.karpenter.k8s.aws' },
  { name: 'nodeoverlays.karpenter.sh', since: '1.7' },
  { name: 'capacitybuffers.autoscaling.x-k8s.io', since: '1.14', isShared: true },
]
