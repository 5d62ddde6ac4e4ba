// Whether a kind lives in namespaces, as far as it can be known without asking a server.
import { isPlainObject } from '#lib'
import type { Manifest } from './manifests.ts'

const CLUSTER_SCOPED = new Set([
  '/Namespace',
  '/Node',
  '/PersistentVolume',
  'apiextensions.k8s.io/CustomResourceDefinition',
  'apiregistration.k8s.io/APIService',
  'admissionregistration.k8s.io/MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration',
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy',
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding',
  'rbac.authorization.k8s.io/ClusterRole',
  'rbac.authorization.k8s.io/ClusterRoleBinding',
  'storage.k8s.io/StorageClass',
  'storage.k8s.io/CSIDriver',
  'storage.k8s.io/VolumeAttachment',
  'scheduling.k8s.io/PriorityClass',
  'node.k8s.io/RuntimeClass',
  'networking.k8s.io/IngressClass',
  'karpenter.sh/NodePool',
  'karpenter.sh/NodeClaim',
  'karpenter.sh/NodeOverlay',
  'karpenter.k8s.aws/EC2NodeClass',
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

export type Scope = 'Cluster' | 'Namespaced' | undefined

export function resolveScope(apiVersion: string, kind: string, beside: readonly Manifest[] = []): Scope {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  if (CLUSTER_SCOPED.has(`${group}/${kind}`)) return 'Cluster'
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
