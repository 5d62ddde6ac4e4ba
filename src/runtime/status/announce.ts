// Events about an object: a Warning for every failed attempt and for every new stop, and a Normal event when its summary
// changes or something is over. Repeats have the same words, so the recorder counts them in one series.
import { type AnyObject, type Condition, conditionOf } from '#api'
import type { Events } from '#kube'
import type { FailedAttempt } from '../controller.ts'
import type { Decision } from '../decision.ts'
import { STALLED } from './summary.ts'

interface Announcement {
  /** The object as it was before its status was written. */
  readonly before: AnyObject
  /** Type of the condition that sums the decision up. */
  readonly type: string
  readonly now: readonly Condition[]
  readonly decision: Decision<unknown> | undefined
  readonly failed: readonly FailedAttempt[]
  readonly warnings: readonly Omit<FailedAttempt, 'class'>[]
  readonly ended: readonly Pick<FailedAttempt, 'reason' | 'message'>[]
}

/** A note longer than this is cut by the API: the cause is shortened before the remedy is. */
const MAX_TEXT = 900

export function announce(events: Events, announcement: Announcement): void {
  const { before, type, now, decision, failed, warnings, ended } = announcement
  const { kind, metadata } = before
  const warn = (reason: string, message: string) => events.emit(before, { type: 'Warning', reason, message })
  for (const { reason, message, hint } of [...failed, ...warnings]) warn(reason, eventText(message, hint))
  for (const { reason, message } of ended) events.emit(before, { type: 'Normal', reason, message })
  const summary = now.find((condition) => condition.type === type)
  if (!summary || failed.length > 0) return
  const { status, reason, message } = summary
  const last = conditionOf(before, type)
  const isStopped = hasNews(
    now.find((condition) => condition.type === STALLED),
    conditionOf(before, STALLED),
  )
  if (isStopped) {
    warn(reason, decision?.is === 'stalled' ? eventText(decision.message, decision.hint) : message)
    return
  }
  const isFlipped = last === undefined ? status === 'True' : last.status !== status
  if (!isFlipped) return
  const text = message === '' ? `${kind} ${metadata.name} is ready` : message
  events.emit(before, { type: 'Normal', reason, message: text })
}

function hasNews(now: Condition | undefined, before: Condition | undefined): boolean {
  if (!now) return false
  return now.reason !== before?.reason || now.message !== before.message
}

/** Cause and remedy in one note that keeps the whole remedy. */
function eventText(message: string, hint = ''): string {
  const cause = message.replace(/[.\s]+$/, '')
  if (hint === '') return cause
  const room = Math.max(100, MAX_TEXT - Buffer.byteLength(hint))
  const bytes = Buffer.from(cause)
  if (bytes.length <= room) return `${cause}. ${hint}`
  return `${new TextDecoder().decode(bytes.subarray(0, room)).replace(/\uFFFD+$/, '')}…. ${hint}`
}
