// The shape of a controller. The loop around it (reconcile.ts) is written once, for every kind.
import type { AnyObject, Condition, Key, KindRef } from '#api'
import type { Cache, Events, Objects, Projected } from '#kube'
import type { Clock, Log } from '#lib'
import type { Decision } from './decision.ts'

/** Everything a controller may touch besides its own ports (engine, identity, …), which its factory receives. */
export interface World {
  readonly objects: Objects
  readonly cache: Cache
  readonly events: Events
  readonly clock: Clock
  readonly log: Log
}

/** A condition a step sets; lastTransitionTime and observedGeneration are filled in by the loop. */
export type ConditionDraft = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

/** One attempt that failed and that the status has not shown yet. It becomes a Warning and is counted by class. */
export interface FailedAttempt {
  /** Label of the metric: a short list of words. */
  readonly class: string
  /** The word that the condition uses. */
  readonly reason: string
  /** Without counters and times, so that repeats are one series of events. */
  readonly message: string
  readonly hint?: string
}

/**
 * What a controller reports beside `Ready`. `fields` is merged over the live status at the top level (undefined
 * removes a field); conditions not named here keep their last value.
 */
export interface StatusReport {
  readonly fields?: Readonly<Record<string, unknown>>
  readonly conditions?: readonly ConditionDraft[]
  readonly failed?: readonly FailedAttempt[]
  /** Warnings about what a condition has begun to say; the controller reports each once. */
  readonly warnings?: readonly Omit<FailedAttempt, 'class'>[]
  /** Normal events about what is over; the controller reports each once. */
  readonly ended?: readonly Pick<FailedAttempt, 'reason' | 'message'>[]
}

/** Another kind whose events wake objects of the controller's kind. */
export interface Wake {
  readonly kind: KindRef
  /** Keys of our kind to look at again. `cache` answers indexes and lists. Must not throw. */
  toKeys(changed: Projected<AnyObject>, cache: Cache): readonly Key[]
  /** Watch predicate: true for an update that does not matter here, such as a count in the status. */
  ignores?(now: Projected<AnyObject>, before: Projected<AnyObject>): boolean
}

export interface Controller<T extends AnyObject, Observed, Action> {
  /** Lower-case name for logs, metrics and queue: `workspacetemplateapply`. */
  readonly name: string
  readonly kind: KindRef
  /**
   * The condition that sums the decision up; `Ready` by default. `false` for kinds whose status follows
   * foreign rules: then only what `status` reports is written, and nothing at all when it reports nothing.
   */
  readonly summary?: string | false
  /**
   * True when nothing of the status is lost if a reconcile that acted leaves it to the one that follows at once: one write
   * for a row of steps. Faults, and acting without progress, are reported all the same.
   */
  defersStatus?(observed: Observed): boolean
  readonly wakes: readonly Wake[]
  /** Objects that answer false are left alone, status included (an externally managed one, for instance). */
  accepts?(object: AnyObject): boolean
  /** Indexes that `observe` or `toKeys` look up, by kind. */
  readonly indexes?: readonly {
    readonly kind: KindRef
    readonly name: string
    values(object: AnyObject): readonly string[]
  }[]
  /** Reads all that the decision needs into one value. */
  observe(world: World, object: Projected<T>): Promise<Observed>
  /** Pure: same observation, same decision. */
  decide(observed: Observed): Decision<Action>
  /** Writes objects or starts work, and returns at once. */
  act(world: World, observed: Observed, action: Action): Promise<void>
  /** Pure: what the observation and the decision say about the object. */
  status(observed: Observed, decision: Decision<Action>): StatusReport
}

/** Any controller, as the loop sees it. */
export type AnyController = Controller<AnyObject, unknown, unknown>
