// Every controller answers with one of four words. Waiting is not an error; stalled needs a person.
export type Decision<A> =
  | {
      readonly is: 'done'
      /** Only for a promise with an end (a token, a check for drift): look again then. */
      readonly retryAfterSeconds?: number
    }
  | { readonly is: 'act'; readonly actions: readonly A[] }
  | {
      readonly is: 'waiting'
      readonly reason: string
      readonly message: string
      /** Only for what no event will tell us (a deadline, a backoff). Absent: an event will wake the object. */
      readonly retryAfterSeconds?: number
      /** Not reported yet: most likely it is over before anybody looks. The next turn reports it. */
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

/** Done for now: the object is looked at again after this time even if nothing happens. */
export function doneFor(seconds: number): Decision<never> {
  return { is: 'done', retryAfterSeconds: seconds }
}

export function act<A>(...actions: readonly A[]): Decision<A> {
  return { is: 'act', actions }
}

/** Waiting for what comes in a moment: nothing is reported before that moment has passed. */
export function waitingAMoment(reason: string, message: string, seconds: number): Decision<never> {
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
