// Whether a kind lives in namespaces, as far as it can be known without asking a server.
import { groupOf, isClusterScoped } from '#api'
import { isPlainObject } from '#lib'
import type { Manifest } from './manifests.ts'

/** Kinds of Karpenter, whose CRDs are not among the manifests. */
const CLUSTER_SCOPED = new Set([
  'karpenter.sh/NodePool',
  'karpenter.sh/NodeClaim',
  'karpenter.sh/NodeOverlay',
  'karpenter.k8s.aws/EC2NodeClass',
  'eks.amazonaws.com/NodeClass',
])
const NAMESPACED_GROUPS = new Set([
  'apps',
  'batch',
  'autoscaling',
  'policy',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'source.toolkit.fluxcd.io',
  'helm.toolkit.fluxcd.io',
  'kustomize.toolkit.fluxcd.io',
])

type Scope = 'Cluster' | 'Namespaced' | undefined

export function resolveScope(apiVersion: string, kind: string, beside: readonly Manifest[] = []): Scope {
  const group = groupOf(apiVersion)
  if (isClusterScoped(group, kind) || CLUSTER_SCOPED.has(`${group}/${kind}`)) return 'Cluster'
  if (group === '' || NAMESPACED_GROUPS.has(group)) return 'Namespaced'
  if (group === 'rbac.authorization.k8s.io' || (group === 'networking.k8s.io' && kind !== 'IngressClass'))
    return 'Namespaced'
  const definition = beside.find((manifest) => {
    const spec = manifest['spec']
    if (manifest.kind !== 'CustomResourceDefinition' || !isPlainObject(spec)) return false
    return spec['group'] === group && isPlainObject(spec['names']) && spec['names']['kind'] === kind
  })
  const scope = isPlainObject(definition?.['spec']) ? definition['spec']['scope'] : undefined
  return scope === 'Cluster' || scope === 'Namespaced' ? scope : undefined
}
