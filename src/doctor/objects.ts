// What is wrong with one object, from what it reports of itself: stopped, failing, not ready for more than a minute,
// add-ons that do not work, things that a teardown left. Pure: the same object and time, the same findings.
import { type AddonDelivery, type AnyObject, conditionOf, type WorkspaceTemplateApply } from '#api'
import { defaultPipeline } from '#controllers'
import { hasLabels, redact } from '#lib'
import {
  type ClusterObjects,
  clusterTree,
  deliveryBranch,
  type Examined,
  type Finding,
  isOrdinary,
  nameFields,
  readinessOf,
  stateOf,
  stopOf,
} from '#view'
import { know, person } from './finding.ts'

/** Ordinary steps end within this time, or are long ones. */
const GRACE_MS = 60_000

const isOld = (since: string | undefined, nowMs: number): boolean =>
  since !== undefined && nowMs - Date.parse(since) >= GRACE_MS

/** An object without a workspace of its own. */
export function examineObject(object: AnyObject, nowMs: number): Examined {
  const stages = stageFindings(object, nowMs)
  const whole = stages.length > 0 ? [] : waitingFindings(object, nowMs)
  return {
    name: `${object.kind}/${object.metadata.name}`,
    fact: '',
    findings: [...stalledFindings(object), ...whole, ...stages, ...leftoverFindings(object)],
  }
}

/** What waits for an apply that has findings of its own names the apply: the cause is reported once. */
export function withoutRepeats(examined: readonly Examined[]): readonly Examined[] {
  const applies = examined
    .filter(({ name, findings }) => name.startsWith('WorkspaceTemplateApply/') && findings.length > 0)
    .map(({ name }) => name.slice(name.indexOf('/') + 1))
  return examined.map((one) => ({
    ...one,
    findings: one.findings.map((finding) => {
      const cause = applies.find((name) => finding.what.startsWith(`${name}: `))
      return cause === undefined || finding.weight === 'person' ? finding : { ...finding, what: `because of ${cause}` }
    }),
  }))
}

function stalledFindings(object: AnyObject): readonly Finding[] {
  const stalled = conditionOf(object, 'Stalled')
  if (stalled?.status !== 'True') return []
  const more = { command: describeCommand(object), since: stalled.lastTransitionTime }
  return [person('stalled', redact(stalled.message), 'see the whole of it:', more)]
}

const describeCommand = ({ kind, metadata }: AnyObject): string =>
  `capt describe ${kind.toLowerCase()} ${metadata.name}`

/** Not ready for more than a minute: a step that takes its time is good to know, everything else is for a person. */
export function waitingFindings(object: AnyObject, nowMs: number): readonly Finding[] {
  if (conditionOf(object, 'Stalled')?.status === 'True') return []
  const { ready, message } = readinessOf(object)
  const { deletionTimestamp, creationTimestamp } = object.metadata
  const condition = conditionOf(object, 'Ready') ?? conditionOf(object, 'Available')
  const since =
    deletionTimestamp ?? (condition?.status === 'True' ? undefined : condition?.lastTransitionTime) ?? creationTimestamp
  const isStale = condition?.status === 'True' && deletionTimestamp === undefined
  if (ready || isStale || !isOld(since, nowMs)) return []
  const stop = stopOf(object, stateOf(object))
  const isStep = condition !== undefined && isOrdinary(condition.reason)
  const found = isStep && !stop ? know : person
  const what = redact(stop?.what ?? condition?.message ?? message)
  const more = { ...(stop ? { command: describeCommand(object) } : {}), since: since! }
  return [found(deletionTimestamp === undefined ? 'waiting' : 'deleting', what, stop?.todo ?? '', more)]
}

/** A run that failed, while another attempt follows or runs: at once, for a loop looks ready to succeed each time. */
export function failingFindings(apply: WorkspaceTemplateApply): readonly Finding[] {
  const { lastError: error, attempts = 1, run } = apply.status ?? {}
  if (!error || conditionOf(apply, 'Stalled')?.status === 'True' || readinessOf(apply).ready) return []
  const { name } = apply.metadata
  const text = nameFields(error.address ? `${error.address}: ${error.message ?? ''}` : (error.message ?? ''), apply)
  const since = conditionOf(apply, 'Ready')?.lastTransitionTime
  const what = redact(`attempt ${attempts} of terraform ${run?.verb ?? 'apply'} failed: ${text}`)
  const explain = error.code ? ` (capt explain ${error.code})` : ''
  const todo = `${error.hint ?? 'remove the cause'}${explain}; what Terraform printed:`
  return [person('failing', what, todo, { command: `capt logs ${name}`, ...(since === undefined ? {} : { since }) })]
}

/** Stages that failed, or were delivered and have not worked for more than a minute. */
function stageFindings(object: AnyObject, nowMs: number): readonly Finding[] {
  if (object.kind !== 'AddonDelivery') return []
  const delivery = object as AddonDelivery
  const broken = deliveryBranch(delivery).children
  return broken.flatMap(({ name, stop }) => {
    const stage = delivery.status?.stages?.find((one) => one.name === name)
    const since = stage?.failedAt ?? stage?.healthy?.since ?? stage?.startedAt ?? object.metadata.creationTimestamp
    const isKnown = stage?.state === 'Failed' || stage?.lastError !== undefined
    if (!stop || !(isKnown || isOld(since, nowMs))) return []
    return [person('add-on', redact(stop.what), stop.todo, since === undefined ? {} : { since })]
  })
}

function leftoverFindings(object: AnyObject): readonly Finding[] {
  const { teardown } = (object as AddonDelivery).status ?? {}
  const todo = 'look at it, and remove it when nobody needs it'
  return (teardown?.leftovers ?? []).map((what) =>
    person('left', `${what} was left when the add-ons were taken away`, todo),
  )
}

/** A Cluster reports for its parts, which are examined themselves; only what it refers to in vain is its own. */
export function examineCluster(objects: ExaminedCluster, nowMs: number): Examined {
  const { stop } = clusterTree(objects)
  const { metadata } = objects.cluster
  const findings = stop ? [person('missing', stop.what, stop.todo)] : []
  return {
    name: `Cluster/${metadata.name}`,
    fact: '',
    findings: [...findings, ...unreachableFindings(objects, nowMs), ...unservedFindings(objects, nowMs)],
  }
}

export interface ExaminedCluster extends ClusterObjects {
  /** A pipeline serves the Cluster. */
  readonly hasDelivery: boolean
}

const REQUESTS = defaultPipeline('').spec.stages.flatMap(({ enabledBy = [] }) => enabledBy)

/** It asks for add-ons, and no pipeline brings any: nothing else would say so. */
function unservedFindings({ cluster, hasDelivery }: ExaminedCluster, nowMs: number): readonly Finding[] {
  const { labels, creationTimestamp, deletionTimestamp } = cluster.metadata
  const asked = REQUESTS.find(({ key, value }) => hasLabels(labels, { [key]: value }))
  if (hasDelivery || !asked || deletionTimestamp || !isOld(creationTimestamp, nowMs)) return []
  return [
    person(
      'add-on',
      `the label ${asked.key} asks for an add-on, and no AddonPipeline serves the Cluster`,
      'apply a pipeline that selects it; a start of capt brings the shipped one back. What there is:',
      { command: 'capt get addonpipelines -A' },
    ),
  ]
}

/** The workload API of a control plane that was there once does not answer. */
function unreachableFindings({ cluster, controlPlane }: ClusterObjects, nowMs: number): readonly Finding[] {
  const probe = conditionOf(cluster, 'RemoteConnectionProbe')
  const isExpected = controlPlane?.status?.initialized === true && cluster.metadata.deletionTimestamp === undefined
  if (!isExpected || probe?.status !== 'False' || !isOld(probe.lastTransitionTime, nowMs)) return []
  const what = redact(`the API of the workload cluster does not answer: ${probe.message}`)
  const command = `capt kubeconfig ${cluster.metadata.name} --token > kubeconfig; kubectl --kubeconfig kubeconfig get --raw /readyz`
  const more = { command, since: probe.lastTransitionTime }
  return [person('unreachable', what, 'check that its endpoint can be reached from where capt runs:', more)]
}
