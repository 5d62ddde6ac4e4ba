// What some built-in kinds do beyond keeping fields: Secrets fold stringData in, ConfigMaps can be frozen, Namespaces
// carry their finalizer, workloads get the defaults that others rely on.
import type { Fault } from '#api'
import { jsonEqual } from '#lib'
import type { Rules } from '../kinds/resource.ts'
import { type ApiObject, listAt, recordAt, textAt } from '../object.ts'
import { fault, forbiddenFault, invalidFault, requiredFault } from '../status.ts'

const MAX_DATA = 1024 * 1024
const CONFIG_KEY = /^[-._a-zA-Z0-9]+$/
const CONFIG_KEY_TEXT =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

/** Keyed by `group/Kind`. */
export const BUILTIN_RULES: Readonly<Record<string, Pick<Rules, 'prepare' | 'validate' | 'retire'>>> = {
  '/Secret': { prepare: prepareSecret, validate: validateSecret },
  '/ConfigMap': { validate: validateConfigMap },
  '/Namespace': { prepare: prepareNamespace, retire: retireNamespace },
  '/Service': { prepare: prepareService },
  '/Event': { validate: validateEvent },
  'events.k8s.io/Event': { validate: validateNewerEvent },
  '/Pod': { prepare: preparePod, validate: validatePod },
  '/PersistentVolumeClaim': { prepare: (claim, old) => startPhase(claim, old, 'Pending') },
  '/PersistentVolume': { prepare: (volume, old) => startPhase(volume, old, 'Pending') },
  'apps/Deployment': { prepare: prepareDeployment, validate: validateSelector },
  'apps/ReplicaSet': { prepare: prepareReplicas, validate: validateSelector },
  'apps/StatefulSet': { prepare: prepareReplicas, validate: validateSelector },
  'apps/DaemonSet': { prepare: fillTemplate, validate: validateSelector },
  'batch/Job': { prepare: prepareJob },
  'coordination.k8s.io/Lease': { validate: validateLease },
}

function prepareSecret(secret: ApiObject, old: ApiObject | undefined): void {
  const plain = recordAt(secret, 'stringData') as Record<string, string>
  const encoded = Object.entries(plain).map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')])
  if (encoded.length > 0) secret['data'] = { ...recordAt(secret, 'data'), ...Object.fromEntries(encoded) }
  delete secret['stringData']
  secret['type'] ||= old?.['type'] ?? 'Opaque'
}

function validateSecret(secret: ApiObject, old: ApiObject | undefined): readonly Fault[] {
  const data = recordAt(secret, 'data') as Record<string, string>
  const size = Object.values(data).reduce((sum, text) => sum + Buffer.byteLength(text, 'base64'), 0)
  const faults = [...keyFaults(data, 'data')]
  if (size > MAX_DATA) faults.push(fault('data', 'TooLong', `Too long: may not be more than ${MAX_DATA} bytes`))
  if (textAt(secret, 'type') === 'kubernetes.io/service-account-token') {
    const account = secret.metadata.annotations?.['kubernetes.io/service-account.name']
    if (!account) faults.push(requiredFault('metadata.annotations[kubernetes.io/service-account.name]'))
  }
  if (!old) return faults
  if (secret['type'] !== old['type']) faults.push(invalidFault('type', secret['type'], 'field is immutable'))
  return [...faults, ...frozenFaults(secret, old, ['data'])]
}

function validateConfigMap(map: ApiObject, old: ApiObject | undefined): readonly Fault[] {
  const data = recordAt(map, 'data') as Record<string, string>
  const binary = recordAt(map, 'binaryData') as Record<string, string>
  const size =
    Object.values(data).reduce((sum, text) => sum + Buffer.byteLength(text), 0) +
    Object.values(binary).reduce((sum, text) => sum + Buffer.byteLength(text, 'base64'), 0)
  const faults = [...keyFaults(data, 'data'), ...keyFaults(binary, 'binaryData')]
  for (const key of Object.keys(data)) {
    if (Object.hasOwn(binary, key))
      faults.push(invalidFault(`data[${key}]`, key, 'duplicate of key present in binaryData'))
  }
  if (size > MAX_DATA) faults.push(fault('', 'TooLong', `Too long: may not be more than ${MAX_DATA} bytes`))
  return old ? [...faults, ...frozenFaults(map, old, ['data', 'binaryData'])] : faults
}

function keyFaults(data: Readonly<Record<string, string>>, path: string): readonly Fault[] {
  return Object.keys(data).flatMap((key) => {
    if (key.length > 253) return [invalidFault(`${path}[${key}]`, key, 'must be no more than 253 bytes')]
    if (!CONFIG_KEY.test(key)) return [invalidFault(`${path}[${key}]`, key, CONFIG_KEY_TEXT)]
    return key === '.' || key.startsWith('..')
      ? [invalidFault(`${path}[${key}]`, key, "must not be '.' or start with '..'")]
      : []
  })
}

function frozenFaults(next: ApiObject, old: ApiObject, fields: readonly string[]): readonly Fault[] {
  if (old['immutable'] !== true) return []
  const faults: Fault[] = []
  if (next['immutable'] !== true) faults.push(forbiddenFault('immutable', 'field is immutable when `immutable` is set'))
  for (const field of fields) {
    if (!jsonEqual(next[field] ?? {}, old[field] ?? {})) {
      faults.push(forbiddenFault(field, 'field is immutable when `immutable` is set'))
    }
  }
  return faults
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

function preparePod(pod: ApiObject, old: ApiObject | undefined): void {
  fillPodSpec(recordAt(pod, 'spec'))
  startPhase(pod, old, 'Pending')
}

function validatePod(pod: ApiObject): readonly Fault[] {
  const containers = recordAt(pod, 'spec')['containers']
  return Array.isArray(containers) && containers.length > 0 ? [] : [requiredFault('spec.containers')]
}

function fillPodSpec(spec: Record<string, unknown>): void {
  const containers = [...listAt(spec, 'initContainers'), ...listAt(spec, 'containers')] as Record<string, unknown>[]
  for (const container of containers) {
    const image = textAt(container, 'image')
    const isLatest = !/:[^/]+$/.test(image) || image.endsWith(':latest')
    container['imagePullPolicy'] ??= isLatest ? 'Always' : 'IfNotPresent'
    container['resources'] ??= {}
    container['terminationMessagePath'] ??= '/dev/termination-log'
    container['terminationMessagePolicy'] ??= 'File'
    for (const port of listAt(container, 'ports') as Record<string, unknown>[]) port['protocol'] ??= 'TCP'
  }
  spec['securityContext'] ??= {}
  spec['restartPolicy'] ??= 'Always'
  spec['dnsPolicy'] ??= 'ClusterFirst'
  spec['schedulerName'] ??= 'default-scheduler'
  spec['terminationGracePeriodSeconds'] ??= 30
}

function startPhase(object: ApiObject, old: ApiObject | undefined, phase: string): void {
  if (old) return
  const status = recordAt(object, 'status')
  status['phase'] ??= phase
  object['status'] = status
}

function prepareDeployment(deployment: ApiObject): void {
  prepareReplicas(deployment)
  const spec = recordAt(deployment, 'spec')
  const strategy = { ...recordAt(spec, 'strategy') }
  strategy['type'] ??= 'RollingUpdate'
  if (strategy['type'] === 'RollingUpdate') strategy['rollingUpdate'] ??= { maxSurge: '25%', maxUnavailable: '25%' }
  spec['strategy'] = strategy
  spec['revisionHistoryLimit'] ??= 10
  spec['progressDeadlineSeconds'] ??= 600
  deployment['spec'] = spec
}

function prepareReplicas(workload: ApiObject): void {
  const spec = recordAt(workload, 'spec')
  spec['replicas'] ??= 1
  fillTemplate(workload)
  workload['spec'] = spec
}

/** A pod template gets what every pod gets. */
function fillTemplate(workload: ApiObject): void {
  const spec = recordAt(workload, 'spec', 'template', 'spec')
  if (Object.keys(spec).length > 0) fillPodSpec(spec)
}

function prepareJob(job: ApiObject): void {
  fillTemplate(job)
  const spec = recordAt(job, 'spec')
  spec['parallelism'] ??= 1
  spec['completions'] ??= spec['parallelism']
  spec['backoffLimit'] ??= 6
  spec['suspend'] ??= false
  job['spec'] = spec
}

function validateSelector(workload: ApiObject, old: ApiObject | undefined): readonly Fault[] {
  const selector = recordAt(workload, 'spec', 'selector')
  if (Object.keys(selector).length === 0) return [requiredFault('spec.selector')]
  if (old && !jsonEqual(selector, recordAt(old, 'spec', 'selector'))) {
    return [invalidFault('spec.selector', selector, 'field is immutable')]
  }
  const labels = recordAt(workload, 'spec', 'template', 'metadata', 'labels')
  const wanted = Object.entries(recordAt(selector, 'matchLabels'))
  if (wanted.every(([key, value]) => labels[key] === value)) return []
  return [invalidFault('spec.template.metadata.labels', labels, '`selector` does not match template `labels`')]
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
