// Tells people once about what the summary of an object says now and did not say before. The event uses the reason
// word of the condition.
import type { AnyObject, Condition } from '#api'
import type { Events } from '#kube'
import { conditionOf } from './conditions.ts'
import { STALLED } from './summary.ts'

export function announce(events: Events, before: AnyObject, type: string, now: readonly Condition[]): void {
  const summary = now.find((condition) => condition.type === type)
  if (!summary) return
  const { status, reason, message } = summary
  const last = conditionOf(before, type)
  const flipped = last === undefined ? status === 'True' : last.status !== status
  const failed = reason === 'InternalError' && last?.reason !== reason
  const stopped = saysMore(
    now.find((condition) => condition.type === STALLED),
    conditionOf(before, STALLED),
  )
  if (!flipped && !failed && !stopped) return
  const text = message === '' ? `${before.kind} ${before.metadata.name} is ready` : message
  events.emit(before, { type: failed || stopped ? 'Warning' : 'Normal', reason, message: text })
}

function saysMore(now: Condition | undefined, before: Condition | undefined): boolean {
  if (!now) return false
  return now.reason !== before?.reason || now.message !== before.message
}
