// Decides the health of what was observed in a workload cluster. Pure. Evidence is stable text: it changes only when
// the fact does.
import { findCondition, type UnknownObject } from '#api'
import { counted, fieldsOf, isPlainObject } from '#lib'
import { type Finding, failed, healthy, progressing, troubled } from './finding.ts'
import { decideHelmRelease, decideSource } from './flux.ts'
import { readPath } from './path.ts'
import type { Check, ObservedTarget } from './read.ts'

export function decideHealth(check: Check, observed: ObservedTarget): Finding {
  const name = `${labelOf(check)} ${check.name}`
  if (!observed.served) return progressing(`${name}: the workload cluster does not serve this kind yet`)
  if (check.type === 'ServiceHasEndpoints') return decideEndpoints(name, observed.beside)
  const { object } = observed
  if (!object) return progressing(`${name} does not exist yet`)
  switch (check.type) {
    case 'CRDEstablished':
      return decideDefinition(name, object)
    case 'DeploymentAvailable':
      return decideDeployment(name, object, observed)
    case 'HelmReleaseReady':
      return decideHelmRelease(name, object, check.version)
    case 'SourceReady':
      return decideSource(name, object)
    case 'JobComplete':
      return decideJob(name, object)
    case 'Condition':
      return decideCondition(name, object, check.path!, check.equals!)
  }
}

function labelOf(check: Check): string {
  const words = {
    CRDEstablished: 'CRD',
    DeploymentAvailable: 'Deployment',
    ServiceHasEndpoints: 'Service',
    HelmReleaseReady: 'HelmRelease',
    JobComplete: 'Job',
  }
  return check.type in words ? words[check.type as keyof typeof words] : (check.kind ?? 'OCIRepository')
}

const statusOf = (object: UnknownObject) => fieldsOf(object['status'])

function decideDefinition(name: string, object: UnknownObject): Finding {
  const { conditions } = statusOf(object)
  const refused = findCondition(conditions, 'NamesAccepted')
  if (refused?.status === 'False') return failed(`${name}: names not accepted: ${refused.message}`)
  return findCondition(conditions, 'Established')?.status === 'True'
    ? healthy(`${name} established`)
    : progressing(`${name} not established yet`)
}

function decideDeployment(name: string, object: UnknownObject, { beside: pods, misplaced }: ObservedTarget): Finding {
  const status = statusOf(object)
  const numberIn = (value: unknown, otherwise: number) => (typeof value === 'number' ? value : otherwise)
  const wanted = numberIn(fieldsOf(object['spec'])['replicas'], 1)
  const count = (field: string) => numberIn(status[field], 0)
  if (count('observedGeneration') < (object.metadata.generation ?? 0))
    return progressing(`${name}: not looked at since it changed`)
  const trouble = pods.map(troubleOf).find((text) => text !== undefined)
  const counts = `${name}: ${count('availableReplicas')} of ${wanted} available${trouble ? `; ${trouble}` : ''}`
  const progress = findCondition(status['conditions'], 'Progressing')
  if (progress?.status === 'False') return failed(`${counts} (${progress.reason})`)
  const going = trouble ? troubled : progressing
  if (count('updatedReplicas') < wanted)
    return going(`${name}: ${count('updatedReplicas')} of ${wanted} updated${trouble ? `; ${trouble}` : ''}`)
  const available = findCondition(status['conditions'], 'Available')?.status === 'True'
  if (!available || count('availableReplicas') < wanted) return going(counts)
  if (misplaced && misplaced.length > 0)
    return failed(`${name} runs on nodes that it made itself: ${misplaced.join(', ')}`)
  return healthy(misplaced ? `${counts}, not on its own nodes` : counts)
}

/** What keeps a pod from running, in the words of the kubelet or the scheduler; no pod name, so that the text is stable. */
function troubleOf(pod: UnknownObject): string | undefined {
  const status = statusOf(pod)
  const containers = [status['initContainerStatuses'], status['containerStatuses']].flatMap((list) =>
    Array.isArray(list) ? list : [],
  )
  for (const container of containers) {
    const waiting = readPath(container, 'state.waiting')
    if (!isPlainObject(waiting) || waiting['reason'] === 'ContainerCreating' || waiting['reason'] === 'PodInitializing')
      continue
    const message = typeof waiting['message'] === 'string' && waiting['message'] !== '' ? `: ${waiting['message']}` : ''
    return `${String(waiting['reason'])}${message}`
  }
  const scheduled = findCondition(status['conditions'], 'PodScheduled')
  return scheduled?.status === 'False' ? `${scheduled.reason}: ${scheduled.message}` : undefined
}

function decideEndpoints(name: string, slices: readonly UnknownObject[]): Finding {
  const ready = slices
    .flatMap((slice) => (Array.isArray(slice['endpoints']) ? slice['endpoints'] : []))
    .filter((endpoint) => isPlainObject(endpoint) && fieldsOf(endpoint['conditions'])['ready'] !== false)
  return ready.length > 0
    ? healthy(`${name}: ${counted(ready.length, 'endpoint')}`)
    : progressing(`${name} has no endpoints yet`)
}

function decideJob(name: string, object: UnknownObject): Finding {
  const { conditions } = statusOf(object)
  const broken = findCondition(conditions, 'Failed')
  if (broken?.status === 'True') return failed(`${name} failed: ${broken.reason} ${broken.message}`.trimEnd())
  return findCondition(conditions, 'Complete')?.status === 'True'
    ? healthy(`${name} complete`)
    : progressing(`${name} is running`)
}

function decideCondition(name: string, object: UnknownObject, path: string, equals: string): Finding {
  const found = readPath(object, path)
  const { generation } = object.metadata
  const { observedGeneration } = statusOf(object)
  if (typeof observedGeneration === 'number' && generation !== undefined && observedGeneration < generation)
    return progressing(`${name}: its status is older than its spec`)
  if (found === undefined) return progressing(`${name} has nothing at ${path}`)
  const text = typeof found === 'string' ? found : JSON.stringify(found)
  const condition = /^status\.conditions\[type=(\w+)\]\.status$/.exec(path)?.[1]
  if (text === equals && equals === 'True' && condition) return healthy(`${name} ${condition}`)
  return text === equals
    ? healthy(`${name}: ${path} is ${equals}`)
    : progressing(`${name}: ${path} is ${text}, not ${equals}`)
}

/** The evidence in short: healthy objects are counted, everything else is listed in full. */
export function summarize(findings: readonly Finding[]): readonly string[] {
  if (!findings.every((finding) => finding.state === 'healthy')) return findings.map((finding) => finding.evidence)
  const texts = findings.map((finding) => finding.evidence)
  const counted = (['CRD', 'Deployment'] as const).flatMap((word) => {
    const own = texts.filter((text) => text.startsWith(`${word} `))
    if (own.length < 2) return own
    return [`${own.length} ${word}s ${word === 'CRD' ? 'established' : 'available'}`]
  })
  return [...counted, ...texts.filter((text) => !/^(CRD|Deployment) /.test(text))]
}
