// What a cell of a built-in kind says, when it is more than one field.
import { type ApiObject, listAt, recordAt, textAt, valueAt } from '../object.ts'
import { ageCell, humanAge } from './columns.ts'

function conditionIs(object: ApiObject, type: string): string {
  const conditions = listAt(object, 'status', 'conditions')
  return textAt(
    conditions.find((condition) => valueAt(condition, 'type') === type),
    'status',
  )
}

export function podNames(object: ApiObject, field: string): string {
  return listAt(object, 'spec', 'template', 'spec', 'containers')
    .map((item) => textAt(item, field))
    .join(',')
}

export function readyContainers(pod: ApiObject): number {
  return listAt(pod, 'status', 'containerStatuses').filter((item) => valueAt(item, 'ready') === true).length
}

export function restarts(pod: ApiObject): number {
  return listAt(pod, 'status', 'containerStatuses').reduce<number>(
    (sum, item) => sum + Number(valueAt(item, 'restartCount') ?? 0),
    0,
  )
}

export function podStatus(pod: ApiObject): string {
  if (pod.metadata.deletionTimestamp) return 'Terminating'
  const waiting = listAt(pod, 'status', 'containerStatuses')
    .map((item) => textAt(item, 'state', 'waiting', 'reason'))
    .find((reason) => reason !== '')
  return waiting ?? (textAt(pod, 'status', 'reason') || textAt(pod, 'status', 'phase') || 'Unknown')
}

export function nodeStatus(node: ApiObject): string {
  const ready = conditionIs(node, 'Ready')
  const state = ready === 'True' ? 'Ready' : ready === 'False' ? 'NotReady' : 'Unknown'
  return valueAt(node, 'spec', 'unschedulable') === true ? `${state},SchedulingDisabled` : state
}

export function nodeRoles(node: ApiObject): string {
  const prefix = 'node-role.kubernetes.io/'
  const roles = Object.keys(node.metadata.labels ?? {})
    .filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length))
  return roles.sort().join(',') || '<none>'
}

export function address(node: ApiObject, type: string): string {
  const found = listAt(node, 'status', 'addresses').find((item) => valueAt(item, 'type') === type)
  return textAt(found, 'address') || '<none>'
}

export function externalAddress(service: ApiObject): string {
  const type = textAt(service, 'spec', 'type')
  const given = listAt(service, 'spec', 'externalIPs').join(',')
  if (type === 'ExternalName') return textAt(service, 'spec', 'externalName')
  if (type !== 'LoadBalancer') return given || '<none>'
  const balancers = listAt(service, 'status', 'loadBalancer', 'ingress').map(
    (item) => textAt(item, 'ip') || textAt(item, 'hostname'),
  )
  return balancers.join(',') || '<pending>'
}

export function servicePorts(service: ApiObject): string {
  const ports = listAt(service, 'spec', 'ports').map((port) => {
    const nodePort = textAt(port, 'nodePort')
    const number = nodePort === '' || nodePort === '0' ? textAt(port, 'port') : `${textAt(port, 'port')}:${nodePort}`
    return `${number}/${textAt(port, 'protocol') || 'TCP'}`
  })
  return ports.join(',') || '<none>'
}

export function labelsText(labels: Readonly<Record<string, unknown>>): string {
  return (
    Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join(',') || '<none>'
  )
}

export function selectorText(selector: Readonly<Record<string, unknown>>): string {
  const labels = Object.entries(recordAt(selector, 'matchLabels')).map(([key, value]) => `${key}=${value}`)
  const rules = listAt(selector, 'matchExpressions').map((rule) => {
    const operator = textAt(rule, 'operator')
    const values = listAt(rule, 'values').join(',')
    if (operator === 'Exists') return textAt(rule, 'key')
    if (operator === 'DoesNotExist') return `!${textAt(rule, 'key')}`
    return `${textAt(rule, 'key')} ${operator.toLowerCase()} (${values})`
  })
  return [...labels, ...rules].join(',') || '<none>'
}

export function jobStatus(job: ApiObject): string {
  if (conditionIs(job, 'Complete') === 'True') return 'Complete'
  if (conditionIs(job, 'Failed') === 'True') return 'Failed'
  if (job.metadata.deletionTimestamp) return 'Terminating'
  return conditionIs(job, 'Suspended') === 'True' ? 'Suspended' : 'Running'
}

export function jobDuration(job: ApiObject, now: number): string {
  const start = textAt(job, 'status', 'startTime')
  const end = textAt(job, 'status', 'completionTime')
  if (start === '') return ''
  return humanAge((end === '' ? now : Date.parse(end)) - Date.parse(start))
}

export function roleName(binding: ApiObject): string {
  return `${textAt(binding, 'roleRef', 'kind')}/${textAt(binding, 'roleRef', 'name')}`
}

export function subjectOf(event: ApiObject): Record<string, unknown> {
  const about = recordAt(event, 'involvedObject')
  return Object.keys(about).length > 0 ? about : recordAt(event, 'regarding')
}

export function eventSource(event: ApiObject): string {
  const source = { ...recordAt(event, 'deprecatedSource'), ...recordAt(event, 'source') }
  const component =
    textAt(source, 'component') || textAt(event, 'reportingComponent') || textAt(event, 'reportingController')
  const host = textAt(source, 'host') || textAt(event, 'reportingInstance')
  return [component, host].filter((part) => part !== '').join(', ')
}

export function firstSeen(event: ApiObject, now: number): string {
  const first = textAt(event, 'firstTimestamp') || textAt(event, 'deprecatedFirstTimestamp')
  return ageCell(first || textAt(event, 'eventTime') || event.metadata.creationTimestamp, now)
}

export function eventCount(event: ApiObject): number {
  const count = valueAt(event, 'series', 'count') ?? valueAt(event, 'count') ?? valueAt(event, 'deprecatedCount')
  return Number(count ?? 1)
}

export function involved(event: ApiObject): string {
  const subject = subjectOf(event)
  return `${textAt(subject, 'kind').toLowerCase()}/${textAt(subject, 'name')}`
}

export function eventAge(event: ApiObject, now: number): string {
  const series = textAt(event, 'series', 'lastObservedTime')
  const last = series || textAt(event, 'lastTimestamp') || textAt(event, 'deprecatedLastTimestamp')
  return ageCell(last || textAt(event, 'eventTime') || event.metadata.creationTimestamp, now)
}
