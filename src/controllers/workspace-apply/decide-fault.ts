// After a failed run: whether another attempt follows, and when. The policy of each class is data of the engine; this is
// the one place that reads it, for apply and destroy alike.
import { faultPolicy, type Run, type RunFault } from '#engine'
import { type Decision, stalled, waiting } from '#runtime'
import { waysOut } from '../shared/ways-out.ts'
import type { Action } from './actions.ts'
import type { Observed } from './observe.ts'

/** Credentials are read again after this time: their Secrets are not watched. */
const CREDENTIALS_SECONDS = 30
/** A run whose runner died this often in a row is not resumed; it counts as a failed attempt. */
const MAX_RESUMED = 3

export const isWorthResuming = (run: Run | undefined): boolean => (run?.resumed ?? 0) < MAX_RESUMED

/** `start` begins the next attempt. The last run failed with `fault`, and no retry was requested. */
export function decideFault(observed: Observed, fault: RunFault, start: Decision<Action>): Decision<Action> {
  const { apply, dueInSeconds, credentialsChanged } = observed
  const { name } = apply.metadata
  const run = observed.view.record?.run
  const verb = run?.verb ?? 'apply'
  const attempt = run?.attempt ?? 1
  const answer = faultPolicy(fault.kind)[verb]
  // The run changed nothing, and nothing is paused any more.
  if (fault.kind === 'paused') return start
  if (fault.kind === 'cancelled')
    return stalled(
      answer.lastReason,
      `The ${verb === 'destroy' ? 'destroy' : 'run'} was cancelled`,
      `capt retry ${name} starts another one${verb === 'destroy' ? `; ${KEEP}` : ''}`,
    )
  const isExhausted = !credentialsChanged && (!answer.retries || attempt > apply.spec.retry.limit)
  const isOverdue = !isExhausted && isPastDeadline(observed)
  if (isExhausted || isOverdue) {
    const attempted = answer.retries ? `Attempt ${attempt}${verb === 'destroy' ? ' to destroy' : ''} failed: ` : ''
    const hint = verb === 'destroy' ? waysOut(apply, fault.hint) : afterLast(fault, answer.retries, name)
    const reason = isOverdue ? 'DeletionOverdue' : answer.lastReason
    return stalled(reason, `${attempted}${textOf(fault)}`, hint, credentialsCheck(observed))
  }
  if (dueInSeconds <= 0) return start
  const nextSeconds = Math.min(dueInSeconds, credentialsCheck(observed) ?? dueInSeconds)
  if (answer.stalls)
    return stalled(
      answer.reason,
      textOf(fault),
      verb === 'destroy' ? `${fault.hint}; ${KEEP}` : fault.hint,
      nextSeconds,
    )
  const what = verb === 'destroy' ? `Attempt ${attempt} to destroy` : `Attempt ${attempt}`
  const hint = fault.kind === 'locked' ? `. ${fault.hint}` : ''
  return waiting(answer.reason, `${what} failed and is tried again: ${textOf(fault)}${hint}`, nextSeconds)
}

export const textOf = ({ address, message }: RunFault): string =>
  address === undefined ? message : `${address}: ${message}`

function afterLast({ hint }: RunFault, retried: boolean, name: string): string {
  return retried && !hint.includes(`capt retry ${name}`) ? `${hint}; capt retry ${name} starts again` : hint
}

/** No further attempt may begin: the time for deletion is over, or is over before the next attempt is due. */
function isPastDeadline({ deletionLeftSeconds, dueInSeconds }: Observed): boolean {
  return deletionLeftSeconds !== undefined && deletionLeftSeconds <= Math.max(0, dueInSeconds)
}

/** Only credentials from a Secret can be compared; a change in the environment cannot be detected. */
function credentialsCheck({ apply, view }: Observed): number | undefined {
  const run = view.record?.run
  const hasSecret = (run?.credentialRefs ?? []).length > 0 || apply.spec.credentialsRef !== undefined
  return run?.fault?.kind === 'credentials' && hasSecret ? CREDENTIALS_SECONDS : undefined
}

const KEEP = 'to leave the infrastructure in place: set spec.retainWorkspaceOnDelete: true'
