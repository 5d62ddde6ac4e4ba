// What some built-in kinds do beyond keeping fields: Secrets fold stringData in, ConfigMaps can be frozen, Namespaces
// carry their finalizer, workloads get the defaults that others rely on.
import type { Fault } from '#api'
import type { Rules } from '../kinds/resource.ts'
import { type ApiObject, recordAt, textAt } from '../object.ts'
import { invalidFault, requiredFault } from '../status.ts'
import { prepareSecret, validateConfigMap, validateSecret } from './data-rules.ts'
import {
  fillTemplate,
  prepareDeployment,
  prepareJob,
  preparePod,
  prepareReplicas,
  startPhase,
  validatePod,
  validateSelector,
} from './workload-rules.ts'

/** Keyed by `group/Kind`. */
export const BUILTIN_RULES: Readonly<Record<string, Pick<Rules, 'prepare' | 'validate' | 'retire'>>> = {
  '/Secret': { prepare: prepareSecret, validate: validateSecret },
  '/ConfigMap': { validate: validateConfigMap },
  '/Namespace': { prepare: prepareNamespace, retire: retireNamespace },
  '/Service': { prepare: prepareService },
  '/Event': { validate: validateEvent },
  'events.k8s.io/Event': { validate: validateNewerEvent },
  '/Pod': { prepare: preparePod, validate: validatePod },
  '/ReplicationController': { prepare: prepareReplicas },
  '/PersistentVolumeClaim': { prepare: (claim, old) => startPhase(claim, old, 'Pending') },
  '/PersistentVolume': { prepare: (volume, old) => startPhase(volume, old, 'Pending') },
  'apps/Deployment': { prepare: prepareDeployment, validate: validateSelector },
  'apps/ReplicaSet': { prepare: prepareReplicas, validate: validateSelector },
  'apps/StatefulSet': { prepare: prepareReplicas, validate: validateSelector },
  'apps/DaemonSet': { prepare: fillTemplate, validate: validateSelector },
  'batch/Job': { prepare: prepareJob },
  'coordination.k8s.io/Lease': { validate: validateLease },
}

function prepareNamespace(namespace: ApiObject, old: ApiObject | undefined): void {
  namespace.metadata.labels = {
    ...namespace.metadata.labels,
    'kubernetes.io/metadata.name': namespace.metadata.name,
  }
  if (old) {
    namespace['spec'] = old['spec'] ?? {}
    return
  }
  const finalizers = recordAt(namespace, 'spec')['finalizers']
  namespace['spec'] = { finalizers: [...new Set([...(Array.isArray(finalizers) ? finalizers : []), 'kubernetes'])] }
  namespace['status'] = { phase: 'Active' }
}

function retireNamespace(namespace: ApiObject): void {
  namespace['status'] = { ...recordAt(namespace, 'status'), phase: 'Terminating' }
}

function validateEvent(event: ApiObject): readonly Fault[] {
  return subjectFaults(event, 'involvedObject')
}

/** An event about something without a namespace lives in `default`. */
function subjectFaults(event: ApiObject, field: string): readonly Fault[] {
  const namespace = textAt(event, field, 'namespace')
  const home = event.metadata.namespace ?? ''
  if (namespace === home || (namespace === '' && home === 'default')) return []
  if (namespace === '' && home === 'kube-system') return []
  return [invalidFault('involvedObject.namespace', namespace, 'does not match event.namespace')]
}

const NEWER_EVENT_FIELDS = ['reportingController', 'reportingInstance', 'action', 'reason'] as const

function validateNewerEvent(event: ApiObject, old: ApiObject | undefined): readonly Fault[] {
  if (!event['eventTime']) return old && !old['eventTime'] ? [] : [requiredFault('eventTime')]
  const type = textAt(event, 'type')
  return [
    ...NEWER_EVENT_FIELDS.filter((field) => textAt(event, field) === '').map((field) => requiredFault(field)),
    ...(type === 'Normal' || type === 'Warning' ? [] : [invalidFault('type', '', `has invalid value: ${type}`)]),
    ...(Buffer.byteLength(textAt(event, 'note')) > 1024
      ? [invalidFault('note', '', 'can have at most 1024 bytes')]
      : []),
    ...subjectFaults(event, 'regarding'),
  ]
}

function prepareService(service: ApiObject): void {
  const spec = recordAt(service, 'spec')
  spec['type'] ??= 'ClusterIP'
  spec['sessionAffinity'] ??= 'None'
  for (const port of Array.isArray(spec['ports']) ? (spec['ports'] as Record<string, unknown>[]) : []) {
    port['protocol'] ??= 'TCP'
    port['targetPort'] ??= port['port']
  }
  service['spec'] = spec
}

function validateLease(lease: ApiObject): readonly Fault[] {
  const spec = recordAt(lease, 'spec')
  const seconds = spec['leaseDurationSeconds']
  const transitions = spec['leaseTransitions']
  return [
    ...(typeof seconds === 'number' && seconds <= 0
      ? [invalidFault('spec.leaseDurationSeconds', seconds, 'must be greater than 0')]
      : []),
    ...(typeof transitions === 'number' && transitions < 0
      ? [invalidFault('spec.leaseTransitions', transitions, 'must be greater than or equal to 0')]
      : []),
  ]
}
