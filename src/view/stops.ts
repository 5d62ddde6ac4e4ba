// Why an object is not ready: what happened, why it does not go on, what to do, what is safe. One rule for every kind,
// from its conditions. Pure.
import { type AnyObject, type Condition, conditionOf, PAUSED_ANNOTATION, type WorkspaceTemplateApply } from '#api'
import { backoffSeconds, faultPolicy } from '#engine'
import { ownValue, parseDuration, toTimestamp } from '#lib'
import { adviceFor, explanation, isOrdinary } from './advice.ts'
import type { State, Stop } from './branch.ts'
import { nameFields } from './fields.ts'

/** Undefined for what is ready or under way. */
export function stopOf(object: AnyObject, state: State): Stop | undefined {
  if (state === 'ready' || state === 'working') return undefined
  const paused = conditionOf(object, 'Paused')
  if (paused?.status === 'True') return pausedStop(paused)
  const stalled = conditionOf(object, 'Stalled')
  if (stalled?.status === 'True') return stalledStop(stalled)
  const condition = waitingCondition(object)
  if (!condition)
    return {
      what: 'No controller has reported on it yet',
      why: 'it was just created, or no manager is running',
      ...sinceOf(object.metadata.creationTimestamp),
      todo: 'check that a manager runs: capt up on this machine, or kubectl get pods -n capt-system',
      safe: 'nothing was changed for it',
    }
  if (condition.status === 'True' && condition.type === 'Ready') return undefined
  if (isOrdinary(condition.reason)) return undefined
  const { why, todo, isInMessage } = adviceFor(condition.reason)
  const [what, hint] = isInMessage ? splitHint(condition.message) : [condition.message, '']
  return {
    what: what || condition.reason,
    why,
    todo: `${hint || todo}${explanation(condition.message)}`,
    ...sinceOf(condition.lastTransitionTime),
    ...(condition.reason === 'RetryScheduled' ? {} : { safe: UNCHANGED }),
  }
}

/** Nothing is started for an object that waits or is stalled. */
const UNCHANGED = 'what exists stays as it is; nothing is changed before that'

const sinceOf = (time: string | undefined): { since?: string } => (time === undefined ? {} : { since: time })

/** The condition that describes the progress: of its deletion when it is being deleted, else of its readiness. */
function waitingCondition(object: AnyObject): Condition | undefined {
  const deleting = object.metadata.deletionTimestamp === undefined ? undefined : conditionOf(object, 'Deleting')
  return deleting?.status === 'True' ? deleting : conditionOf(object, 'Ready')
}

function pausedStop({ message, lastTransitionTime }: Condition): Stop {
  return {
    what: message || 'It is paused',
    since: lastTransitionTime,
    why: 'nothing is changed while it is paused',
    todo: `set spec.paused of the Cluster to false, and remove the annotation ${PAUSED_ANNOTATION} where it is set`,
  }
}

function stalledStop({ message, reason, lastTransitionTime }: Condition): Stop {
  const [what, hint] = splitHint(message)
  return {
    what,
    why: `it is stalled and needs a person (${reason})`,
    since: lastTransitionTime,
    todo: `${hint || 'remove the cause that is named above; it goes on by itself then'}${hint.includes('capt explain') ? '' : explanation(what)}`,
    safe: UNCHANGED,
  }
}

/** A stalled condition holds a sentence and the hint behind it. */
function splitHint(message: string): readonly [string, string] {
  const end = message.search(/\.\s/)
  return end < 0 ? [message, ''] : [message.slice(0, end), message.slice(end + 1).trim()]
}

/** Reasons of a stalled apply that say how its attempts go on; the class of the last error does not matter then. */
const ATTEMPTS: Readonly<Record<string, (attempt: number) => string>> = {
  DestroyFailed: (attempt) => `attempt ${attempt} to destroy failed; another one follows by itself`,
  RetriesExhausted: (attempt) => `no further attempt follows after attempt ${attempt} (RetriesExhausted)`,
  DeletionOverdue: (attempt) => `no further attempt follows after attempt ${attempt} (DeletionOverdue)`,
}

const WHY: Readonly<Record<string, string>> = {
  user: 'the template or its variables are wrong; no attempt follows until they change',
  credentials: 'the credentials are missing, wrong or lack a permission',
  deadline: 'the run took longer than its timeout',
  cancelled: 'a person cancelled the run',
  locked: 'somebody else holds the state lock',
}

/** Whether Terraform works on it now. */
export const isRunning = ({ status }: WorkspaceTemplateApply): boolean =>
  status?.phase === 'Running' || status?.phase === 'Destroying'

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
  const runs = isRunning(apply) ? `attempt ${attempt} is running now` : ''
  return {
    what: nameFields(error.address ? `${error.address}: ${text}` : text, apply),
    why: isStalled
      ? stalledWhy(stalled.reason, error.kind ?? '', attempt)
      : runs ||
        `attempt ${attempt} failed; ${ready?.reason === 'RetryScheduled' ? 'another one follows by itself' : (ready?.message.split('\n')[0] ?? '')}`,
    todo: [
      `${hint}${explanation(text, error.code)}`,
      ...(hint.includes(`capt retry ${name}`) ? [] : [`capt retry ${name} starts another attempt at once`]),
      ...(hint.includes(`capt logs ${name}`) ? [] : [`capt logs ${name} shows the run`]),
    ]
      .join('; ')
      .concat(keepsHint),
    ...sinceOf(apply.status?.run?.finishedAt ?? (isStalled ? stalled : ready)?.lastTransitionTime),
    ...timesOf(apply, isStalled ? stalled.reason : ''),
    safe: savedText(apply),
  }
}

/** When the next attempt begins, and until when there is one. */
function timesOf(apply: WorkspaceTemplateApply, stalledReason: string): Pick<Stop, 'nextAttempt' | 'deadline'> {
  const { run, lastError, attempts = 1 } = apply.status ?? {}
  const { timeout, deletionTimeout, retry } = apply.spec
  if (isRunning(apply))
    return run?.startedAt && timeout !== undefined
      ? { deadline: `the run is stopped at ${after(run.startedAt, parseDuration(timeout))} (spec.timeout)` }
      : {}
  const kind = lastError?.kind
  const verb = run?.verb === 'destroy' ? 'destroy' : 'apply'
  if (kind === undefined || run?.finishedAt === undefined || stalledReason === 'DeletionOverdue') return {}
  if (stalledReason === faultPolicy(kind)[verb].lastReason && attempts > (retry?.limit ?? 0)) return {}
  if (!faultPolicy(kind)[verb].retries) return {}
  const limit = `attempt ${attempts} of ${(retry?.limit ?? 0) + 1} (spec.retry.limit)`
  const overdue = `; none begins later than ${deletionTimeout} after the first one (spec.deletionTimeout)`
  return {
    nextAttempt: after(run.finishedAt, backoffSeconds(kind, attempts) * 1000),
    deadline: verb === 'destroy' && deletionTimeout !== undefined ? `${limit}${overdue}` : limit,
  }
}

const after = (time: string, ms: number): string => toTimestamp(Date.parse(time) + ms)

function stalledWhy(reason: string, fault: string, attempt: number): string {
  const attempts = ownValue(ATTEMPTS, reason)
  if (attempts) return attempts(attempt)
  return ownValue(WHY, fault) ?? `no further attempt follows after attempt ${attempt} (${reason})`
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
