// Rights and limits of the Flux controllers: what they may read and write, and who may edit their objects.
import type { Manifest } from '../../manifests/manifests.ts'
import { FLUX_NAMESPACE } from '../../names.ts'

export const FLUX_CONTROLLERS = ['source-controller', 'helm-controller'] as const
export type FluxController = (typeof FLUX_CONTROLLERS)[number]

export const inFlux = (name: string) => ({ name, namespace: FLUX_NAMESPACE })

/** Pods of a system priority class are refused outside kube-system unless a quota allows them. */
export function fluxQuota(): Manifest {
  const scopeSelector = {
    matchExpressions: [
      { operator: 'In', scopeName: 'PriorityClass', values: ['system-node-critical', 'system-cluster-critical'] },
    ],
  }
  return {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: inFlux(`critical-pods-${FLUX_NAMESPACE}`),
    spec: { hard: { pods: '1000' }, scopeSelector },
  }
}

export function fluxRbac(): readonly Manifest[] {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const all = (apiGroup: string) => ({ apiGroups: [apiGroup], resources: ['*'], verbs: ['*'] })
  const toolkit = ['source.toolkit.fluxcd.io', 'helm.toolkit.fluxcd.io']
  const change = ['create', 'delete', 'deletecollection', 'patch', 'update']
  const aggregate = (...roles: readonly string[]) =>
    Object.fromEntries(roles.map((role) => [`rbac.authorization.k8s.io/aggregate-to-${role}`, 'true']))
  const subject = (name: FluxController) => ({ kind: 'ServiceAccount', ...inFlux(name) })
  const bind = (name: string, role: string, who: readonly FluxController[]): Manifest => ({
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name: `${name}-${FLUX_NAMESPACE}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: who.map(subject),
  })
  const leases = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete']
  return [
    {
      apiVersion,
      kind: 'ClusterRole',
      metadata: { name: `crd-controller-${FLUX_NAMESPACE}` },
      rules: [
        ...toolkit.map(all),
        {
          apiGroups: [''],
          resources: ['namespaces', 'secrets', 'configmaps', 'serviceaccounts'],
          verbs: ['get', 'list', 'watch'],
        },
        { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
        { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
        { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: leases },
        { nonResourceURLs: ['/livez/ping'], verbs: ['head'] },
      ],
    },
    {
      apiVersion,
      kind: 'ClusterRole',
      metadata: { name: `flux-edit-${FLUX_NAMESPACE}`, labels: aggregate('edit', 'admin') },
      rules: [{ apiGroups: toolkit, resources: ['*'], verbs: change }],
    },
    {
      apiVersion,
      kind: 'ClusterRole',
      metadata: { name: `flux-view-${FLUX_NAMESPACE}`, labels: aggregate('view', 'edit', 'admin') },
      rules: [{ apiGroups: toolkit, resources: ['*'], verbs: ['get', 'list', 'watch'] }],
    },
    bind('crd-controller', `crd-controller-${FLUX_NAMESPACE}`, FLUX_CONTROLLERS),
    bind('cluster-reconciler', 'cluster-admin', ['helm-controller']),
  ]
}
