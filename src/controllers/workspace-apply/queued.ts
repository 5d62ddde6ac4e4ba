// What is reported of a run that waits for a slot: why, its position, and since when.
import type { QueueReason } from '#engine'
import type { Observed } from './observe.ts'

/** The position is reported again this often: moving up in the queue wakes nobody. */
export const QUEUE_SECONDS = 60

const MESSAGES: Readonly<Record<QueueReason, string>> = {
  AllSlotsTaken: 'Waiting for other runs to end: as many are in progress as may be (--concurrent-runs)',
  NamespaceLimit: 'Waiting for other runs of this namespace to end (--concurrent-runs-per-namespace)',
  IdentityLimit: 'Waiting for other runs with the same credentials to end (--concurrent-runs-per-identity)',
}

export function queueMessage(reason: QueueReason | undefined): string {
  return reason === undefined ? 'Waiting for other runs to end' : MESSAGES[reason]
}

export function queueOf({ view: { record, queue } }: Observed) {
  const run = record?.run
  return run?.phase === 'Queued' && queue ? { ...queue, since: run.startedAt } : undefined
}
