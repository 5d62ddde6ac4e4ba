// What `kubectl get` shows for built-in kinds: the columns people know, for the kinds people list.
import type { TableColumn } from '../kinds/resource.ts'
import { type ApiObject, listAt, recordAt, textAt, valueAt } from '../object.ts'
import {
  address,
  eventAge,
  eventCount,
  eventSource,
  externalAddress,
  firstSeen,
  involved,
  jobDuration,
  jobStatus,
  labelsText,
  nodeRoles,
  nodeStatus,
  podNames,
  podStatus,
  readyContainers,
  restarts,
  roleName,
  selectorText,
  servicePorts,
  subjectOf,
} from './builtin-cells.ts'
import { ageCell, ageColumn, column, nameColumn } from './columns.ts'

const number = { type: 'integer' } as const
const wide = { priority: 1 } as const
const at =
  (...path: readonly string[]) =>
  (object: ApiObject) =>
    valueAt(object, ...path) ?? 0
const text =
  (...path: readonly string[]) =>
  (object: ApiObject) =>
    textAt(object, ...path)
const or =
  (fallback: string, ...path: readonly string[]) =>
  (object: ApiObject) =>
    textAt(object, ...path) || fallback
const count =
  (...path: readonly string[]) =>
  (object: ApiObject) =>
    Object.keys(recordAt(object, ...path)).length

const containers = column('Containers', (object) => podNames(object, 'name'), wide)
const images = column('Images', (object) => podNames(object, 'image'), wide)
const selector = column('Selector', (object) => selectorText(recordAt(object, 'spec', 'selector')), wide)

const COLUMNS: Readonly<Record<string, readonly TableColumn[]>> = {
  '/Namespace': [column('Status', text('status', 'phase')), ageColumn],
  '/Secret': [column('Type', text('type')), column('Data', count('data')), ageColumn],
  '/ConfigMap': [column('Data', (map) => Number(count('data')(map)) + Number(count('binaryData')(map))), ageColumn],
  '/ServiceAccount': [column('Secrets', (account) => listAt(account, 'secrets').length), ageColumn],
  '/Event': [
    column('Last Seen', (event, now) => eventAge(event, now)),
    column('Type', text('type')),
    column('Reason', text('reason')),
    column('Object', involved),
    column('Subobject', (event) => textAt(subjectOf(event), 'fieldPath'), wide),
    column('Source', eventSource, wide),
    column('Message', (event) => (textAt(event, 'message') || textAt(event, 'note')).trim()),
    column('First Seen', firstSeen, wide),
    column('Count', (event) => eventCount(event), wide),
    { ...nameColumn, priority: 1 },
  ],
  '/Pod': [
    column('Ready', (pod) => `${readyContainers(pod)}/${listAt(pod, 'spec', 'containers').length}`),
    column('Status', podStatus),
    column('Restarts', (pod) => `${restarts(pod)}`),
    ageColumn,
    column('IP', or('<none>', 'status', 'podIP'), wide),
    column('Node', or('<none>', 'spec', 'nodeName'), wide),
    column('Nominated Node', or('<none>', 'status', 'nominatedNodeName'), wide),
    column('Readiness Gates', () => '<none>', wide),
  ],
  '/Node': [
    column('Status', nodeStatus),
    column('Roles', nodeRoles),
    ageColumn,
    column('Version', text('status', 'nodeInfo', 'kubeletVersion')),
    column('Internal-IP', (node) => address(node, 'InternalIP'), wide),
    column('External-IP', (node) => address(node, 'ExternalIP'), wide),
    column('OS-Image', or('<unknown>', 'status', 'nodeInfo', 'osImage'), wide),
    column('Kernel-Version', or('<unknown>', 'status', 'nodeInfo', 'kernelVersion'), wide),
    column('Container-Runtime', or('<unknown>', 'status', 'nodeInfo', 'containerRuntimeVersion'), wide),
  ],
  '/Service': [
    column('Type', text('spec', 'type')),
    column('Cluster-IP', or('<none>', 'spec', 'clusterIP')),
    column('External-IP', externalAddress),
    column('Port(s)', servicePorts),
    ageColumn,
    column('Selector', (service) => labelsText(recordAt(service, 'spec', 'selector')), wide),
  ],
  '/PersistentVolumeClaim': [
    column('Status', text('status', 'phase')),
    column('Volume', text('spec', 'volumeName')),
    column('Capacity', text('status', 'capacity', 'storage')),
    column('Access Modes', (claim) => listAt(claim, 'status', 'accessModes').join(',')),
    column('StorageClass', text('spec', 'storageClassName')),
    ageColumn,
  ],
  'coordination.k8s.io/Lease': [column('Holder', text('spec', 'holderIdentity')), ageColumn],
  'apps/Deployment': [
    column('Ready', (object) => `${at('status', 'readyReplicas')(object)}/${at('spec', 'replicas')(object)}`),
    column('Up-to-date', at('status', 'updatedReplicas')),
    column('Available', at('status', 'availableReplicas')),
    ageColumn,
    containers,
    images,
    selector,
  ],
  'apps/ReplicaSet': [
    column('Desired', at('spec', 'replicas'), number),
    column('Current', at('status', 'replicas'), number),
    column('Ready', at('status', 'readyReplicas'), number),
    ageColumn,
    containers,
    images,
    selector,
  ],
  'apps/StatefulSet': [
    column('Ready', (object) => `${at('status', 'readyReplicas')(object)}/${at('spec', 'replicas')(object)}`),
    ageColumn,
    containers,
    images,
  ],
  'apps/DaemonSet': [
    column('Desired', at('status', 'desiredNumberScheduled'), number),
    column('Current', at('status', 'currentNumberScheduled'), number),
    column('Ready', at('status', 'numberReady'), number),
    column('Up-to-date', at('status', 'updatedNumberScheduled'), number),
    column('Available', at('status', 'numberAvailable'), number),
    column('Node Selector', (set) => labelsText(recordAt(set, 'spec', 'template', 'spec', 'nodeSelector'))),
    ageColumn,
    containers,
    images,
    selector,
  ],
  'batch/Job': [
    column('Status', jobStatus),
    column('Completions', (job) => `${at('status', 'succeeded')(job)}/${valueAt(job, 'spec', 'completions') ?? 1}`),
    column('Duration', jobDuration),
    ageColumn,
    containers,
    images,
  ],
  'batch/CronJob': [
    column('Schedule', text('spec', 'schedule')),
    column('Timezone', or('<none>', 'spec', 'timeZone')),
    column('Suspend', (job) => (valueAt(job, 'spec', 'suspend') === true ? 'True' : 'False')),
    column('Active', (job) => listAt(job, 'status', 'active').length, number),
    column('Last Schedule', (job, now) => {
      const last = textAt(job, 'status', 'lastScheduleTime')
      return last === '' ? '<none>' : ageCell(last, now)
    }),
    ageColumn,
  ],
  'storage.k8s.io/StorageClass': [
    column('Provisioner', text('provisioner')),
    column('ReclaimPolicy', or('Delete', 'reclaimPolicy')),
    column('VolumeBindingMode', or('Immediate', 'volumeBindingMode')),
    column('AllowVolumeExpansion', (item) => item['allowVolumeExpansion'] === true),
    ageColumn,
  ],
  'scheduling.k8s.io/PriorityClass': [
    column('Value', at('value'), number),
    column('Global-Default', (item) => item['globalDefault'] === true, { type: 'boolean' }),
    ageColumn,
  ],
  'policy/PodDisruptionBudget': [
    column('Min Available', or('N/A', 'spec', 'minAvailable')),
    column('Max Unavailable', or('N/A', 'spec', 'maxUnavailable')),
    column('Allowed Disruptions', at('status', 'disruptionsAllowed'), number),
    ageColumn,
  ],
  'networking.k8s.io/NetworkPolicy': [
    column('Pod-Selector', (policy) => selectorText(recordAt(policy, 'spec', 'podSelector'))),
    ageColumn,
  ],
  'rbac.authorization.k8s.io/Role': [column('Created At', text('metadata', 'creationTimestamp'))],
  'rbac.authorization.k8s.io/ClusterRole': [column('Created At', text('metadata', 'creationTimestamp'))],
  'rbac.authorization.k8s.io/RoleBinding': [column('Role', roleName), ageColumn],
  'rbac.authorization.k8s.io/ClusterRoleBinding': [column('Role', roleName), ageColumn],
  'apiextensions.k8s.io/CustomResourceDefinition': [column('Created At', text('metadata', 'creationTimestamp'))],
  'apiregistration.k8s.io/APIService': [column('Service', () => 'Local'), column('Available', () => 'True'), ageColumn],
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': [
    column('Webhooks', (item) => listAt(item, 'webhooks').length, number),
    ageColumn,
  ],
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': [
    column('Webhooks', (item) => listAt(item, 'webhooks').length, number),
    ageColumn,
  ],
}

export function builtinColumns(group: string, kind: string): readonly TableColumn[] {
  // An event's own name says nothing: it comes last, and only when asked for.
  if (kind === 'Event') return COLUMNS['/Event']!
  return [nameColumn, ...(COLUMNS[`${group}/${kind}`] ?? [ageColumn])]
}
