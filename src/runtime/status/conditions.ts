// Conditions with their times. A time changes only when the status does; a condition without a draft stays as it was.
import type { AnyObject, Condition } from '#api'
import { toTimestamp } from '#lib'
import type { ConditionDraft } from '../controller.ts'

/** The API refuses longer messages. */
const MAX_MESSAGE = 32_768

export function conditionsOf(object: AnyObject): readonly Condition[] {
  const { status } = object as { status?: { conditions?: readonly Condition[] } }
  return status?.conditions ?? []
}

interface Changes {
  readonly drafts: readonly ConditionDraft[]
  readonly removed?: readonly string[]
  readonly nowMs: number
  /** Generation that the drafts speak of. */
  readonly generation: number | undefined
}

export function mergeConditions(previous: readonly Condition[], changes: Changes): readonly Condition[] {
  const { drafts, removed = [], nowMs, generation } = changes
  const merged = new Map(previous.map((condition) => [condition.type, condition]))
  for (const type of removed) merged.delete(type)
  for (const { type, status, reason, message } of drafts) {
    const known = merged.get(type)
    const since = known?.status === status ? known.lastTransitionTime : toTimestamp(nowMs)
    const bounded = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message
    merged.set(type, {
      type,
      status,
      reason,
      message: bounded,
      lastTransitionTime: since,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    })
  }
  return [...merged.values()]
}
