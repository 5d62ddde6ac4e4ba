// What people are shown about one object: a name, a state, one fact, an age. The command line and the dashboard render
// branches and nothing else.
import { type AnyObject, conditionOf } from '#api'

export type State = 'ready' | 'working' | 'waiting' | 'stalled' | 'paused' | 'deleting' | 'unknown'

/** Every stop says: what happened, why it does not go on, when it goes on, what to do, and what is safe. */
export interface Stop {
  readonly what: string
  readonly why: string
  /** Since when it is so, as an RFC 3339 time. */
  readonly since?: string
  /** When the next attempt begins by itself, as an RFC 3339 time. */
  readonly nextAttempt?: string
  /** When no further attempt begins, or the run is stopped: a sentence. */
  readonly deadline?: string
  readonly todo: string
  readonly safe?: string
}

export interface Branch {
  readonly name: string
  readonly state: State
  /** The state in the word that fits this kind: applied, delivered, not ready. */
  readonly word: string
  readonly fact: string
  /** Shown instead of the fact where the stop is shown too: the same sentence appears once. */
  readonly label?: string
  /** What is good to know of something healthy, for those who ask for more. */
  readonly detail?: string
  /** Since when the state holds, as an RFC 3339 time. */
  readonly since?: string
  readonly stop?: Stop
  readonly children: readonly Branch[]
}

const WORD: Record<State, string> = {
  ready: 'ready',
  working: 'working',
  waiting: 'waiting',
  stalled: 'stalled',
  paused: 'paused',
  deleting: 'deleting',
  unknown: 'pending',
}

export const wordOf = (state: State): string => WORD[state]

/** The state that the conditions of any of our kinds speak of. */
export function stateOf(object: AnyObject): State {
  if (conditionOf(object, 'Paused')?.status === 'True') return 'paused'
  if (conditionOf(object, 'Stalled')?.status === 'True') return 'stalled'
  if (object.metadata.deletionTimestamp !== undefined) return 'deleting'
  const ready = conditionOf(object, 'Ready')
  if (!ready) return 'unknown'
  if (ready.status === 'True') return 'ready'
  return ready.reason === 'Progressing' || ready.reason.includes('Running') || ready.reason === 'RunInProgress'
    ? 'working'
    : 'waiting'
}
