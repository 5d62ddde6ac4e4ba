// The conditions Paused and Deleting, with the reasons of core Cluster API.
import type { ConditionDraft, Decision } from '#runtime'

export function pausedCondition(cause: string | undefined): ConditionDraft {
  return cause === undefined
    ? { type: 'Paused', status: 'False', reason: 'NotPaused', message: '' }
    : { type: 'Paused', status: 'True', reason: 'Paused', message: cause }
}

export function deletingCondition(deleting: boolean, decision: Decision<unknown>): ConditionDraft {
  if (!deleting) return { type: 'Deleting', status: 'False', reason: 'NotDeleting', message: '' }
  const { reason, message } = reasonOf(decision)
  return { type: 'Deleting', status: 'True', reason, message }
}

/** What happened and what to do, as two sentences. */
export function stopText({ message, hint }: { readonly message: string; readonly hint: string }): string {
  return `${message.replace(/[.\s]+$/, '')}. ${hint}`
}

function reasonOf(decision: Decision<unknown>): { readonly reason: string; readonly message: string } {
  if (decision.is === 'waiting') return decision
  if (decision.is === 'stalled') return { reason: decision.reason, message: stopText(decision) }
  return { reason: 'Deleting', message: '' }
}
