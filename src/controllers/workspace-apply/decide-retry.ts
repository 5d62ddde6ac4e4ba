// After a failure: whether another attempt can help, and when. What a person must mend is not tried again on its own.
import type { RunFault } from '#engine'
import { type Decision, stalled, waiting } from '#runtime'
import type { Action } from './actions.ts'
import type { Observed } from './observe.ts'

/** Credentials are looked at this often: their Secrets are not watched. */
const CREDENTIALS_SECONDS = 30

export function decideRetry(seen: Observed, fault: RunFault, start: Decision<Action>): Decision<Action> {
  const { apply, view, dueInSeconds } = seen
  const attempt = view.record?.run?.attempt ?? 1
  const said = fault.address === undefined ? fault.message : `${fault.address}: ${fault.message}`
  switch (fault.kind) {
    case 'cancelled':
      return stalled('Cancelled', 'The run was cancelled', `capt retry ${apply.metadata.name} starts another one`)
    // Nothing was changed, and nothing is paused any more.
    case 'paused':
      return start
    case 'user':
      return stalled('ApplyRejected', said, fault.hint)
    case 'deadline':
      return stalled('TimedOut', said, fault.hint)
    case 'credentials':
      return seen.credentialsChanged ? start : stalled('CredentialsRejected', said, fault.hint, CREDENTIALS_SECONDS)
    case 'locked':
      return dueInSeconds <= 0 ? start : waiting('StateLocked', `${said}. ${fault.hint}`, dueInSeconds)
    default:
  }
  if (attempt > apply.spec.retry.limit) {
    return stalled(
      'RetriesExhausted',
      `Attempt ${attempt} failed: ${said}`,
      `${fault.hint}; capt retry ${apply.metadata.name} starts again`,
    )
  }
  if (dueInSeconds <= 0) return start
  return waiting('RetryScheduled', `Attempt ${attempt} failed and is tried again: ${said}`, dueInSeconds)
}
