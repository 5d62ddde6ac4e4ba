// Pods and what makes them get the defaults that others rely on; a selector must match its template and stay as it is.
import type { Fault } from '#api'
import { hasLabels, jsonEqual } from '#lib'
import { type ApiObject, listAt, recordAt, textAt } from '../object.ts'
import { invalidFault, requiredFault } from '../status.ts'

export function preparePod(pod: ApiObject, old: ApiObject | undefined): void {
  fillPodSpec(recordAt(pod, 'spec'))
  startPhase(pod, old, 'Pending')
}

export function validatePod(pod: ApiObject): readonly Fault[] {
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

export function startPhase(object: ApiObject, old: ApiObject | undefined, phase: string): void {
  if (old) return
  const status = recordAt(object, 'status')
  status['phase'] ??= phase
  object['status'] = status
}

export function prepareDeployment(deployment: ApiObject): void {
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

export function prepareReplicas(workload: ApiObject): void {
  const spec = recordAt(workload, 'spec')
  spec['replicas'] ??= 1
  fillTemplate(workload)
  workload['spec'] = spec
}

/** A pod template gets what every pod gets. */
export function fillTemplate(workload: ApiObject): void {
  const spec = recordAt(workload, 'spec', 'template', 'spec')
  if (Object.keys(spec).length > 0) fillPodSpec(spec)
}

export function prepareJob(job: ApiObject): void {
  fillTemplate(job)
  const spec = recordAt(job, 'spec')
  spec['parallelism'] ??= 1
  spec['completions'] ??= spec['parallelism']
  spec['backoffLimit'] ??= 6
  spec['suspend'] ??= false
  job['spec'] = spec
}

export function validateSelector(workload: ApiObject, old: ApiObject | undefined): readonly Fault[] {
  const selector = recordAt(workload, 'spec', 'selector')
  if (Object.keys(selector).length === 0) return [requiredFault('spec.selector')]
  if (old && !jsonEqual(selector, recordAt(old, 'spec', 'selector'))) {
    return [invalidFault('spec.selector', selector, 'field is immutable')]
  }
  const labels = recordAt(workload, 'spec', 'template', 'metadata', 'labels')
  if (hasLabels(labels as Readonly<Record<string, string>>, recordAt(selector, 'matchLabels'))) return []
  return [invalidFault('spec.template.metadata.labels', labels, '`selector` does not match template `labels`')]
}
