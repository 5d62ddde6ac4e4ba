// Whether an object is ready as it is written now: by a condition about its current generation. A kind that reports
// conditions is not ready before it has done so. Pure.
import {
  type AddonDelivery,
  type AddonPipeline,
  ALL_KINDS,
  type AnyObject,
  CLUSTER_GROUP,
  type Condition,
  conditionOf,
  groupOf,
  readCluster,
  readMachinePool,
  type WorkspaceTemplate,
  type WorkspaceTemplateApply,
} from '#api'

export interface Readiness {
  readonly ready: boolean
  /** What it waits for; empty when it is ready. */
  readonly message: string
  /** No controller has reported on it at all. */
  readonly isUnseen?: true
}

const READY: Readiness = { ready: true, message: '' }
const notReady = (message: string): Readiness => ({ ready: false, message })

/** Kinds of others that report conditions, and which of them count: the first that is there. */
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
  'cluster.x-k8s.io/Cluster': ['Available', 'Ready'],
  'apps/Deployment': ['Available'],
  'apiextensions.k8s.io/CustomResourceDefinition': ['Established'],
}

interface Reported {
  readonly types: readonly string[]
  /** Whether the kind always writes one; otherwise an object without conditions has nothing to wait for. */
  readonly always: boolean
}

function reportedBy({ apiVersion, kind }: AnyObject): Reported {
  const group = groupOf(apiVersion)
  const ours = ALL_KINDS.find((one) => one.group === group && one.kind === kind)
  if (ours) return { types: ['Ready'], always: ours.status?.schema.properties?.['conditions'] !== undefined }
  const foreign = FOREIGN[`${group}/${kind}`]
  return foreign ? { types: foreign, always: true } : { types: ['Ready', 'Available'], always: false }
}

export function readinessOf(object: AnyObject): Readiness {
  if (object.metadata.deletionTimestamp !== undefined) return notReady('is being deleted')
  const paused = conditionOf(object, 'Paused')
  if (paused?.status === 'True') return notReady(`is paused: ${paused.message}`)
  if (object.kind === 'MachinePool' && groupOf(object.apiVersion) === CLUSTER_GROUP) return machinePoolReadiness(object)
  const { types, always } = reportedBy(object)
  const found = types.flatMap((type) => conditionOf(object, type) ?? []).at(0)
  if (!found) return always ? { ...notReady('has not reported yet'), isUnseen: true } : READY
  if (isStale(found, object)) return notReady('has not reported on its last change yet')
  if (found.status !== 'True') return notReady(firstLine(found.message) || found.reason)
  return topologyOf(object)
}

/** Counted, because core reports on a MachinePool by numbers. */
function machinePoolReadiness(object: AnyObject): Readiness {
  const { status } = object as {
    readonly status?: { readonly observedGeneration?: number; readonly readyReplicas?: number }
  }
  const { replicas } = readMachinePool(object)
  const { observedGeneration = 0, readyReplicas: ready = 0 } = status ?? {}
  if (observedGeneration < (object.metadata.generation ?? 0)) return notReady('has not reported on its last change yet')
  return ready === replicas ? READY : notReady(`${ready} of ${replicas} nodes are ready`)
}

/** A condition without a generation counts by that of the status; where neither is written there is nothing to compare. */
function isStale(condition: Condition, object: AnyObject): boolean {
  const { status } = object as { readonly status?: { readonly observedGeneration?: number } }
  const observed = condition.observedGeneration ?? status?.observedGeneration
  return observed !== undefined && observed < (object.metadata.generation ?? 0)
}

/** A Cluster of a class is up to date when the topology was carried over to the objects it is made of. */
function topologyOf(object: AnyObject): Readiness {
  if (object.kind !== 'Cluster' || readCluster(object).topology === undefined) return READY
  const reconciled = conditionOf(object, 'TopologyReconciled')
  if (!reconciled) return READY
  if (isStale(reconciled, object)) return notReady('has not carried over its topology yet')
  return reconciled.status === 'True' ? READY : notReady(firstLine(reconciled.message) || reconciled.reason)
}

/** An apply follows a changed template later than the template reports its change. */
export function followsTemplate(apply: WorkspaceTemplateApply, template: WorkspaceTemplate): Readiness {
  const applied = apply.status?.templateGeneration
  if (applied === undefined || applied >= (template.metadata.generation ?? 0)) return READY
  return notReady(`the last change of WorkspaceTemplate ${template.metadata.name} has not reached it yet`)
}

/** Labels of a Cluster ask for stages without changing its generation, or that of its delivery. */
export function followsLabels(delivery: AddonDelivery, pipeline: AddonPipeline, cluster: AnyObject): Readiness {
  // Gates are opened by capt itself; what they enable follows later.
  const gates = new Set(pipeline.spec.stages.map(({ gateLabel }) => gateLabel))
  const labels = new Map(Object.entries(cluster.metadata.labels ?? {}).filter(([key]) => !gates.has(key)))
  const states = new Map((delivery.status?.stages ?? []).map(({ name, state }) => [name, state]))
  // Stages that are reported as not needed have been looked at.
  const needless = new Set((delivery.status?.stages ?? []).flatMap((one) => (isNeedless(one) ? [one.name] : [])))
  const behind = pipeline.spec.stages
    .filter(({ enabledBy }) => enabledBy.length === 0 || enabledBy.some(({ key, value }) => labels.get(key) === value))
    .map(({ name }) => name)
    .filter((name) => (states.get(name) ?? 'NotWanted') === 'NotWanted' && !needless.has(name))
  return behind.length === 0 ? READY : notReady(`has not begun with ${behind.join(', ')} yet`)
}

const isNeedless = ({ state, reason }: { state?: string; reason?: string }) =>
  state === 'NotWanted' && reason !== undefined

const firstLine = (text: string): string => text.split('\n')[0] ?? ''
