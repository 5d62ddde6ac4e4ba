// Why an object is not ready, in the sentences people need: what happened, why it is not going on, what to do, what is
// safe. One rule for every kind, from its conditions. Pure.
import { type AnyObject, type Condition, conditionOf, PAUSED_ANNOTATION, type WorkspaceTemplateApply } from '#api'
import { ownValue } from '#lib'
import type { State, Stop } from './branch.ts'

/** Steps that end by themselves: somebody works, or another object of the same tree has the cause. */
const ORDINARY = new Set([
  'Checking',
  'ControlPlaneCreating',
  'ControlPlaneNotReady',
  'Creating',
  'Deleting',
  'Delivering',
  'DependencyNotReady',
  'Destroying',
  'KubernetesVersionUnknown',
  'NeedsNotReady',
  'NotLookedYet',
  'Polling',
  'ProbeLeaving',
  'ProbePending',
  'Probing',
  'Progressing',
  'Queued',
  'Removed',
  'Removing',
  'RunInProgress',
  'RunQueued',
  'TearingDown',
  'TornDown',
  'VPCCreating',
  'VPCDeleting',
  'WorkspaceDeleting',
])

export const isOrdinary = (reason: string): boolean => ORDINARY.has(reason) || reason.startsWith('WaitingFor')

export interface Advice {
  readonly why: string
  readonly todo: string
}

/** What people can do about a wait that does not end by itself. */
const ADVICE: Readonly<Record<string, Advice>> = {
  TemplateMissing: {
    why: 'a run needs its template; it starts by itself once the template is there',
    todo: 'apply the manifest of the template, or correct the reference to it; capt get workspacetemplates -A lists those that exist',
  },
  SecretsMissing: {
    why: 'a run needs the Secret; it starts by itself once the Secret is there',
    todo: 'make the Secret, or correct its name in the spec',
  },
  SourceMissing: {
    why: 'the values come from this object; it goes on by itself once it is there',
    todo: 'make the object, or correct the reference to it',
  },
  VariablesMissing: {
    why: 'a template names variables that have no value yet',
    todo: 'give them a value: spec.variablesFrom of the AddonPipeline, or an output of the control plane template',
  },
  Suspended: {
    why: 'a person suspended it: nothing is started',
    todo: 'set spec.suspend to false',
  },
  RolloutStopped: {
    why: 'a person holds back the change of the template by an annotation',
    todo: 'remove the annotation from the WorkspaceTemplate',
  },
  DependentsExist: {
    why: 'what depends on it must go first',
    todo: 'delete what the message names, or wait until it is gone',
  },
  ClusterMissing: {
    why: 'it works only for a Cluster that owns it',
    todo: 'apply the Cluster that refers to it, or delete it',
  },
  PipelineMissing: {
    why: 'add-ons are delivered by a pipeline; it goes on by itself once the pipeline is there',
    todo: 'apply the AddonPipeline; capt get addonpipelines -A lists those that exist',
  },
  NotHealthy: {
    why: 'what was delivered does not work in the workload cluster',
    todo: 'look at the pods that the message names: capt kubeconfig CLUSTER > kubeconfig; kubectl --kubeconfig kubeconfig get pods -A',
  },
  WorkloadUnreachable: {
    why: 'the API server of the workload cluster does not answer; it is asked again by itself',
    todo: 'check that its endpoint can be reached from where capt runs, and that the kubeconfig Secret is current',
  },
  RetryScheduled: {
    why: 'another attempt follows by itself',
    todo: 'remove the cause, or wait for the next attempt',
  },
}

const NO_ADVICE: Advice = {
  why: 'it waits, and goes on by itself when that is over',
  todo: 'see what the message names; capt doctor lists what has been waiting for more than a minute',
}

export const adviceFor = (reason: string): Advice => ownValue(ADVICE, reason) ?? NO_ADVICE

const explainCode = (code: string | undefined): string => (code ? ` (capt explain ${code})` : '')

/** Undefined for what is ready or under way. */
export function stopOf(object: AnyObject, state: State): Stop | undefined {
  if (state === 'ready' || state === 'working') return undefined
  if (conditionOf(object, 'Paused')?.status === 'True') return pausedStop(object)
  const stalled = conditionOf(object, 'Stalled')
  if (stalled?.status === 'True') return stalledStop(stalled)
  const condition = waitingCondition(object)
  if (!condition)
    return {
      what: 'No controller has reported on it yet',
      why: 'it was made a moment ago, or no manager works on it',
      todo: 'check that a manager runs: capt up on this machine, or kubectl get pods -n capt-system',
    }
  if (condition.status === 'True' && condition.type === 'Ready') return undefined
  if (isOrdinary(condition.reason)) return undefined
  return { what: condition.message || condition.reason, ...adviceFor(condition.reason) }
}

/** The condition that says where an object is: its deletion when it is being deleted, else its readiness. */
export function waitingCondition(object: AnyObject): Condition | undefined {
  const deleting = object.metadata.deletionTimestamp === undefined ? undefined : conditionOf(object, 'Deleting')
  return deleting?.status === 'True' ? deleting : conditionOf(object, 'Ready')
}

function pausedStop(object: AnyObject): Stop {
  return {
    what: conditionOf(object, 'Paused')?.message || 'It is paused',
    why: 'nothing is changed while it is paused',
    todo: `set spec.paused of the Cluster to false, and remove the annotation ${PAUSED_ANNOTATION} where it is set`,
  }
}

function stalledStop({ message, reason }: Condition): Stop {
  const [what, hint] = splitHint(message)
  return {
    what,
    why: `trying again would not help: it needs a person (${reason})`,
    todo: hint || 'remove the cause that is named above; it goes on by itself then',
  }
}

/** A stalled condition holds a sentence and the hint behind it. */
function splitHint(message: string): readonly [string, string] {
  const end = message.search(/\.\s/)
  return end < 0 ? [message, ''] : [message.slice(0, end), message.slice(end + 1).trim()]
}

const WHY: Readonly<Record<string, string>> = {
  user: 'trying again would not help: the template or its variables are wrong',
  credentials: 'the credentials are missing, wrong or lack a permission',
  deadline: 'the run took longer than its timeout',
  cancelled: 'a person cancelled the run',
  locked: 'somebody else holds the state lock',
}

/** An apply knows more than its conditions: the error of the last run, and what is in its state. */
export function applyStop(apply: WorkspaceTemplateApply, state: State): Stop | undefined {
  const error = apply.status?.lastError
  const { name } = apply.metadata
  if (!error || state === 'ready' || state === 'paused') return stopOf(apply, state)
  const stalled = conditionOf(apply, 'Stalled')
  const isStalled = stalled?.status === 'True'
  const ready = conditionOf(apply, 'Ready')
  const text = error.message ?? ''
  const hint = (isStalled && afterError(stalled.message, text)) || error.hint || 'remove the cause'
  const attempt = apply.status?.attempts ?? 1
  const isDestroy = apply.status?.run?.verb === 'destroy' && !hint.includes('retainWorkspaceOnDelete')
  const keepsHint = isDestroy ? '; to leave the infrastructure in place: set spec.retainWorkspaceOnDelete to true' : ''
  const runs = apply.status?.phase === 'Running' ? `attempt ${attempt} is running now` : ''
  return {
    what: error.address ? `${error.address}: ${text}` : text,
    why: isStalled
      ? (ownValue(WHY, error.kind ?? '') ?? `no further attempt follows after attempt ${attempt} (${stalled.reason})`)
      : runs ||
        `attempt ${attempt} failed; ${ready?.reason === 'RetryScheduled' ? 'another one follows by itself' : (ready?.message.split('\n')[0] ?? '')}`,
    todo: `${hint}${explainCode(error.code)}${hint.includes(`capt retry ${name}`) ? '' : `; capt retry ${name} starts another attempt at once`}; capt logs ${name} shows the run${keepsHint}`,
    safe: savedText(apply),
  }
}

/** What a stalled condition says behind the error: the hint, or every way out. */
function afterError(message: string, error: string): string {
  const known = error.replace(/[.\s]+$/, '')
  const at = known === '' ? -1 : message.indexOf(known)
  return at < 0 ? '' : message.slice(at + known.length).replace(/^[.\s]+/, '')
}

function savedText({ status }: WorkspaceTemplateApply): string {
  const saved = status?.state
  if (!saved) return 'nothing was made yet'
  const count = saved.resources ?? 0
  return `${count} ${count === 1 ? 'resource' : 'resources'} in state (serial ${saved.serial ?? 0})`
}
