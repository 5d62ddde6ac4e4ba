// The kinds every Kubernetes cluster has, as a table: address, type, short names and the few rules that differ.
// They are data here: nobody schedules these Pods. What a kind checks beyond its types is in rules.ts.
import type { Rules, ScalePaths } from '../kinds/resource.ts'

export interface BuiltinKind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  /** Name in types.generated.json. */
  readonly type: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly status?: boolean
  readonly scale?: ScalePaths
  readonly subresources?: readonly string[]
  readonly selectable?: readonly string[]
  readonly rules: Rules
}

interface Options extends Partial<Omit<BuiltinKind, 'rules'>>, Rules {}

const SCALE: ScalePaths = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }

function define(apiVersion: string, kind: string, plural: string, options: Options = {}): BuiltinKind {
  const [group, version] = apiVersion.includes('/') ? (apiVersion.split('/') as [string, string]) : ['', apiVersion]
  const folder = group === '' ? 'core' : group.split('.')[0]
  const { shortNames, categories, status, scale, subresources, selectable, namespaced = true, type, ...rules } = options
  return {
    group,
    version,
    kind,
    plural,
    namespaced,
    type: type ?? `${folder}.${version}.${kind}`,
    ...(shortNames ? { shortNames } : {}),
    ...(categories ? { categories } : {}),
    ...(status ? { status } : {}),
    ...(scale ? { scale } : {}),
    ...(subresources ? { subresources } : {}),
    ...(selectable ? { selectable } : {}),
    rules: { unconditionalUpdate: true, ...rules },
  }
}

const EVENT_FIELDS = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath']
const all = ['all']
const workload = { status: true, generation: true, categories: all }

export const BUILTIN_KINDS: readonly BuiltinKind[] = [
  define('v1', 'Namespace', 'namespaces', {
    namespaced: false,
    shortNames: ['ns'],
    status: true,
    subresources: ['finalize'],
    selectable: ['status.phase', 'name'],
    name: 'label',
  }),
  define('v1', 'Secret', 'secrets', { selectable: ['type'] }),
  define('v1', 'ConfigMap', 'configmaps', { shortNames: ['cm'] }),
  define('v1', 'ServiceAccount', 'serviceaccounts', { shortNames: ['sa'], subresources: ['token'] }),
  define('v1', 'Event', 'events', {
    shortNames: ['ev'],
    selectable: [
      ...EVENT_FIELDS.map((field) => `involvedObject.${field}`),
      'reason',
      'reportingComponent',
      'source',
      'type',
    ],
    createOnUpdate: true,
  }),
  define('v1', 'Pod', 'pods', {
    shortNames: ['po'],
    categories: all,
    status: true,
    generation: true,
    subresources: ['eviction', 'binding'],
    selectable: [
      'spec.nodeName',
      'spec.restartPolicy',
      'spec.schedulerName',
      'spec.serviceAccountName',
      'status.phase',
      'status.podIP',
      'status.nominatedNodeName',
    ],
  }),
  define('v1', 'Node', 'nodes', {
    namespaced: false,
    shortNames: ['no'],
    status: true,
    selectable: ['spec.unschedulable'],
  }),
  define('v1', 'Service', 'services', {
    shortNames: ['svc'],
    categories: all,
    status: true,
    name: 'label',
    createOnUpdate: true,
    selectable: ['spec.clusterIP', 'spec.type'],
  }),
  define('v1', 'Endpoints', 'endpoints', { shortNames: ['ep'], createOnUpdate: true }),
  define('v1', 'PersistentVolume', 'persistentvolumes', { namespaced: false, shortNames: ['pv'], status: true }),
  define('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', { shortNames: ['pvc'], status: true }),
  define('v1', 'ResourceQuota', 'resourcequotas', { shortNames: ['quota'], status: true }),
  define('v1', 'LimitRange', 'limitranges', { shortNames: ['limits'], createOnUpdate: true }),
  define('v1', 'ReplicationController', 'replicationcontrollers', { ...workload, shortNames: ['rc'], scale: SCALE }),
  define('v1', 'PodTemplate', 'podtemplates', { generation: true }),

  define('events.k8s.io/v1', 'Event', 'events', {
    shortNames: ['ev'],
    createOnUpdate: true,
    selectable: [...EVENT_FIELDS.map((field) => `regarding.${field}`), 'reason', 'reportingController', 'type'],
  }),
  define('coordination.k8s.io/v1', 'Lease', 'leases', { unconditionalUpdate: false, createOnUpdate: true }),

  define('apps/v1', 'Deployment', 'deployments', { ...workload, shortNames: ['deploy'], scale: SCALE }),
  define('apps/v1', 'ReplicaSet', 'replicasets', { ...workload, shortNames: ['rs'], scale: SCALE }),
  define('apps/v1', 'StatefulSet', 'statefulsets', { ...workload, shortNames: ['sts'], scale: SCALE }),
  define('apps/v1', 'DaemonSet', 'daemonsets', { ...workload, shortNames: ['ds'] }),
  define('apps/v1', 'ControllerRevision', 'controllerrevisions'),
  define('batch/v1', 'Job', 'jobs', { ...workload, selectable: ['status.successful'] }),
  define('batch/v1', 'CronJob', 'cronjobs', { ...workload, shortNames: ['cj'] }),
  define('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', {
    shortNames: ['hpa'],
    categories: all,
    status: true,
  }),

  define('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', { shortNames: ['netpol'], generation: true }),
  define('networking.k8s.io/v1', 'Ingress', 'ingresses', { shortNames: ['ing'], status: true, generation: true }),
  define('networking.k8s.io/v1', 'IngressClass', 'ingressclasses', { namespaced: false, generation: true }),
  define('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets', {
    shortNames: ['pdb'],
    status: true,
    generation: true,
    unconditionalUpdate: false,
  }),
  define('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices', { generation: true }),
  define('storage.k8s.io/v1', 'StorageClass', 'storageclasses', { namespaced: false, shortNames: ['sc'] }),
  define('storage.k8s.io/v1', 'CSIDriver', 'csidrivers', { namespaced: false }),
  define('storage.k8s.io/v1', 'CSINode', 'csinodes', { namespaced: false }),
  define('storage.k8s.io/v1', 'VolumeAttachment', 'volumeattachments', { namespaced: false, status: true }),
  define('scheduling.k8s.io/v1', 'PriorityClass', 'priorityclasses', {
    namespaced: false,
    shortNames: ['pc'],
    generation: true,
  }),

  define('rbac.authorization.k8s.io/v1', 'Role', 'roles', { name: 'path', createOnUpdate: true }),
  define('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings', { name: 'path', createOnUpdate: true }),
  define('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', {
    namespaced: false,
    name: 'path',
    createOnUpdate: true,
  }),
  define('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'clusterrolebindings', {
    namespaced: false,
    name: 'path',
    createOnUpdate: true,
  }),

  define('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', 'validatingwebhookconfigurations', {
    namespaced: false,
    categories: ['api-extensions'],
    generation: true,
    unconditionalUpdate: false,
  }),
  define('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', 'mutatingwebhookconfigurations', {
    namespaced: false,
    categories: ['api-extensions'],
    generation: true,
    unconditionalUpdate: false,
  }),
  define('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', {
    namespaced: false,
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    status: true,
    generation: true,
    unconditionalUpdate: false,
  }),
  define('apiregistration.k8s.io/v1', 'APIService', 'apiservices', {
    namespaced: false,
    categories: ['api-extensions'],
    status: true,
    unconditionalUpdate: false,
  }),
]
