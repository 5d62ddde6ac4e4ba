// The kinds every Kubernetes cluster has, as a table: address, type, short names and the few rules that differ.
// They are data here: nobody schedules these Pods. What a kind checks beyond its types is in rules.ts.
import { type KindRef, kindRef } from '#api'
import type { Rules, ScalePaths } from '../kinds/resource.ts'

export interface BuiltinKind extends KindRef {
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

interface Options extends Partial<Omit<BuiltinKind, keyof KindRef | 'type' | 'rules'>>, Rules {
  readonly namespaced?: boolean
}

const SCALE: ScalePaths = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }

function define(apiVersion: string, kind: string, options: Options = {}): BuiltinKind {
  const { shortNames, categories, status, scale, subresources, selectable, namespaced, ...rules } = options
  const ref = kindRef(apiVersion, kind, namespaced)
  const folder = ref.group === '' ? 'core' : ref.group.split('.')[0]
  return {
    ...ref,
    type: `${folder}.${ref.version}.${kind}`,
    ...{ shortNames, categories, status, scale, subresources, selectable },
    rules: { unconditionalUpdate: true, ...rules },
  }
}

const EVENT_FIELDS = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath']
const all = ['all']
const workload = { status: true, generation: true, categories: all }
const role = { name: 'path', createOnUpdate: true } as const
/** Kinds that extend the API itself. */
const extension = { namespaced: false, categories: ['api-extensions'], unconditionalUpdate: false }

export const BUILTIN_KINDS: readonly BuiltinKind[] = [
  define('v1', 'Namespace', {
    namespaced: false,
    shortNames: ['ns'],
    status: true,
    subresources: ['finalize'],
    selectable: ['status.phase', 'name'],
    name: 'label',
  }),
  define('v1', 'Secret', { selectable: ['type'] }),
  define('v1', 'ConfigMap', { shortNames: ['cm'] }),
  define('v1', 'ServiceAccount', { shortNames: ['sa'], subresources: ['token'] }),
  define('v1', 'Event', {
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
  define('v1', 'Pod', {
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
  define('v1', 'Node', {
    namespaced: false,
    shortNames: ['no'],
    status: true,
    selectable: ['spec.unschedulable'],
  }),
  define('v1', 'Service', {
    shortNames: ['svc'],
    categories: all,
    status: true,
    name: 'label',
    createOnUpdate: true,
    selectable: ['spec.clusterIP', 'spec.type'],
  }),
  define('v1', 'Endpoints', { shortNames: ['ep'], createOnUpdate: true }),
  define('v1', 'PersistentVolume', { namespaced: false, shortNames: ['pv'], status: true }),
  define('v1', 'PersistentVolumeClaim', { shortNames: ['pvc'], status: true }),
  define('v1', 'ResourceQuota', { shortNames: ['quota'], status: true }),
  define('v1', 'LimitRange', { shortNames: ['limits'], createOnUpdate: true }),
  define('v1', 'ReplicationController', { ...workload, shortNames: ['rc'], scale: SCALE }),
  define('v1', 'PodTemplate', { generation: true }),

  define('events.k8s.io/v1', 'Event', {
    shortNames: ['ev'],
    createOnUpdate: true,
    selectable: [...EVENT_FIELDS.map((field) => `regarding.${field}`), 'reason', 'reportingController', 'type'],
  }),
  define('coordination.k8s.io/v1', 'Lease', { unconditionalUpdate: false, createOnUpdate: true }),

  define('apps/v1', 'Deployment', { ...workload, shortNames: ['deploy'], scale: SCALE }),
  define('apps/v1', 'ReplicaSet', { ...workload, shortNames: ['rs'], scale: SCALE }),
  define('apps/v1', 'StatefulSet', { ...workload, shortNames: ['sts'], scale: SCALE }),
  define('apps/v1', 'DaemonSet', { ...workload, shortNames: ['ds'] }),
  define('apps/v1', 'ControllerRevision'),
  define('batch/v1', 'Job', { ...workload, selectable: ['status.successful'] }),
  define('batch/v1', 'CronJob', { ...workload, shortNames: ['cj'] }),
  define('autoscaling/v2', 'HorizontalPodAutoscaler', {
    shortNames: ['hpa'],
    categories: all,
    status: true,
  }),

  define('networking.k8s.io/v1', 'NetworkPolicy', { shortNames: ['netpol'], generation: true }),
  define('networking.k8s.io/v1', 'Ingress', { shortNames: ['ing'], status: true, generation: true }),
  define('networking.k8s.io/v1', 'IngressClass', { namespaced: false, generation: true }),
  define('policy/v1', 'PodDisruptionBudget', {
    shortNames: ['pdb'],
    status: true,
    generation: true,
    unconditionalUpdate: false,
  }),
  define('discovery.k8s.io/v1', 'EndpointSlice', { generation: true }),
  define('storage.k8s.io/v1', 'StorageClass', { namespaced: false, shortNames: ['sc'] }),
  define('storage.k8s.io/v1', 'CSIDriver', { namespaced: false }),
  define('storage.k8s.io/v1', 'CSINode', { namespaced: false }),
  define('storage.k8s.io/v1', 'VolumeAttachment', { namespaced: false, status: true }),
  define('scheduling.k8s.io/v1', 'PriorityClass', {
    namespaced: false,
    shortNames: ['pc'],
    generation: true,
  }),

  define('rbac.authorization.k8s.io/v1', 'Role', role),
  define('rbac.authorization.k8s.io/v1', 'RoleBinding', role),
  define('rbac.authorization.k8s.io/v1', 'ClusterRole', { ...role, namespaced: false }),
  define('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', { ...role, namespaced: false }),

  define('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', { ...extension, generation: true }),
  define('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', { ...extension, generation: true }),
  define('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
    ...extension,
    shortNames: ['crd', 'crds'],
    status: true,
    generation: true,
  }),
  define('apiregistration.k8s.io/v1', 'APIService', { ...extension, status: true }),
]
