// The four decisions of a controller. Waiting is not an error; stalled needs a person.
export type Decision<A> =
  | {
      readonly is: 'done'
      /** Only for what expires (a token) or is due (a drift check): reconciled again then. */
      readonly retryAfterSeconds?: number
    }
  | { readonly is: 'act'; readonly actions: readonly A[] }
  | {
      readonly is: 'waiting'
      readonly reason: string
      readonly message: string
      /** Only where no event follows (a deadline, a backoff). Absent: an event wakes the object. */
      readonly retryAfterSeconds?: number
      /** The status is not written for this decision: the wait is expected to end first. The next reconcile reports it. */
      readonly unreported?: true
    }
  | {
      readonly is: 'stalled'
      readonly reason: string
      readonly message: string
      readonly hint: string
      readonly retryAfterSeconds?: number
    }

export const done: Decision<never> = { is: 'done' }

/** Done for now: the object is reconciled again after this time even without an event. */
export function doneFor(seconds: number): Decision<never> {
  return { is: 'done', retryAfterSeconds: seconds }
}

export function act<A>(...actions: readonly A[]): Decision<A> {
  return { is: 'act', actions }
}

/** Waiting for what others usually do within seconds: the status is not written before the grace period has passed. */
export function waitingInGracePeriod(reason: string, message: string, seconds: number): Decision<never> {
  return { is: 'waiting', reason, message, retryAfterSeconds: seconds, unreported: true }
}

export function waiting(reason: string, message: string, retryAfterSeconds?: number): Decision<never> {
  return retryAfterSeconds === undefined
    ? { is: 'waiting', reason, message }
    : { is: 'waiting', reason, message, retryAfterSeconds }
}

export function stalled(reason: string, message: string, hint: string, retryAfterSeconds?: number): Decision<never> {
  return retryAfterSeconds === undefined
    ? { is: 'stalled', reason, message, hint }
    : { is: 'stalled', reason, message, hint, retryAfterSeconds }
}

/** `a, b and c`, sorted, so that a message changes only when the fact does. */
export function names(items: readonly { readonly name: string; readonly namespace?: string }[]): string {
  const texts = items.map((item) => (item.namespace ? `${item.namespace}/${item.name}` : item.name)).sort()
  return texts.length < 2 ? (texts[0] ?? '') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`
}
