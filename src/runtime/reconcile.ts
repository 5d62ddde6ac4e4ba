// One turn of any controller: observe, decide, act, report. The status is written once, at the end, whatever happened,
// and not at all when nothing changed. The answer says when the object wants its next turn.
import { randomUUID } from 'node:crypto'
import { type AnyObject, type Key, keyOf, keyText } from '#api'
import { isKubeError, type Projected } from '#kube'
import { CaptError, type Log, messageOf, redact } from '#lib'
import { announce } from './announce.ts'
import { conditionOf } from './conditions.ts'
import type { AnyController, FailedAttempt, StatusReport, World } from './controller.ts'
import type { Decision } from './decision.ts'
import { HotLoopGuard } from './hot-loop.ts'
import type { Again } from './queue.ts'
import type { TurnResult } from './queue-metrics.ts'
import { toStatusChange } from './status-change.ts'
import { READY, summarize, toFailure } from './summary.ts'

export interface TurnEnd {
  readonly again: Again
  readonly result: TurnResult
  /** Classes of the attempts whose failure was reported in this turn. */
  readonly failed?: readonly string[]
}

/** `failures`: how often in a row the key has come back by backoff. */
export type Turn = (key: Key, failures: number) => Promise<TurnEnd>

export interface TurnOptions {
  /** Objects that answer false are left alone, as if they did not exist (the watch filter). */
  readonly accepts?: (object: AnyObject) => boolean
}

/** Faults that pass by themselves are shown only when they have come back this often: about five seconds of backoff. */
const PATIENCE = 10

const REST: TurnEnd = { again: 'never', result: 'success' }

export function createTurn(controller: AnyController, world: World, options: TurnOptions = {}): Turn {
  const { accepts = () => true } = options
  const guard = new HotLoopGuard()

  return async function turn(key, failures) {
    const id = keyText(key)
    const object = world.cache.get(controller.kind, key)
    if (!object || !accepts(object) || controller.accepts?.(object) === false) {
      guard.settled(id)
      return REST
    }
    const keys = { controller: controller.name, [controller.kind.kind]: id, reconcileID: randomUUID() }
    const log = world.log.with(keys)
    const taken = await takeTurn(controller, { ...world, log }, object)
    if (taken.fault === undefined && taken.decision?.is === 'waiting' && taken.decision.unreported)
      return toEnd(taken, log, guard, id)
    const isLeft = taken.fault === undefined && taken.decision?.is === 'act' && controller.reportsAtRest?.(taken.seen)
    const early = isLeft ? toEnd(taken, log, guard, id) : undefined
    if (early?.again === 'now') return early
    const hidden = isPassing(taken.fault) && failures < PATIENCE
    const written = await report(controller, world, object, taken, hidden)

    const fault = taken.fault ?? written.fault
    if (written.gone) {
      guard.settled(id)
      return REST
    }
    const failed = (written.failed ?? []).map((attempt) => attempt.class)
    const ending = failed.length > 0 ? { failed } : {}
    if (fault !== undefined) {
      if (isOvertaken(fault) && failures < PATIENCE) return { again: 'backoff', result: 'requeue', ...ending }
      log.error('Turn failed', { error: redact(messageOf(fault)), ...whereFrom(fault) })
      return { again: 'backoff', result: 'error', ...ending }
    }
    return { ...(early ?? toEnd(taken, log, guard, id)), ...ending }
  }
}

interface Taken {
  readonly seen?: unknown
  readonly decision?: Decision<unknown>
  readonly status: StatusReport
  readonly fault?: unknown
}

async function takeTurn(controller: AnyController, world: World, object: Projected<AnyObject>): Promise<Taken> {
  let seen: unknown
  let decision: Decision<unknown> | undefined
  let fault: unknown
  try {
    seen = await controller.observe(world, object)
    decision = controller.decide(seen)
    for (const action of decision.is === 'act' ? decision.actions : []) await controller.act(world, seen, action)
  } catch (error) {
    fault = error ?? new Error('Something threw nothing')
  }
  if (decision === undefined) return { seen, status: {}, fault }
  try {
    return { seen, decision, status: controller.status(seen, decision), fault }
  } catch (error) {
    return { seen, decision, status: {}, fault: fault ?? error }
  }
}

async function report(
  controller: AnyController,
  world: World,
  observed: Projected<AnyObject>,
  taken: Taken,
  hidden: boolean,
): Promise<{ readonly gone?: boolean; readonly fault?: unknown; readonly failed?: readonly FailedAttempt[] }> {
  const { kind } = controller
  const key = keyOf(observed)
  // Acting may have moved the object on; the cache has seen what we wrote.
  const latest = world.cache.get(kind, key)
  if (!latest || isOver(latest) || latest.metadata.uid !== observed.metadata.uid) return { gone: true }

  const type = controller.summary ?? READY
  const summary =
    type === false || hidden ? undefined : summarize(type, taken.decision, taken.fault, conditionOf(latest, type))
  const nowMs = world.clock.now()
  const change = toStatusChange({ kind, observed, latest, report: taken.status, summary, nowMs })
  try {
    const { resourceVersion } = latest.metadata
    const body = { metadata: { resourceVersion }, status: change?.patch }
    if (change) await world.objects.patch(kind, key, { type: 'merge', body }, { subresource: 'status' })
  } catch (error) {
    return isKubeError(error, 'NotFound') ? { gone: true } : { fault: error }
  }
  if (type === false) return {}
  const thrown = taken.fault === undefined || hidden ? [] : [toFailedAttempt(taken.fault)]
  const failed = [...thrown, ...(taken.status.failed ?? [])]
  const warnings = change ? (taken.status.warnings ?? []) : []
  if (!change && failed.length === 0) return {}
  const now = change?.conditions ?? []
  announce(world.events, { before: latest, type, now, decision: taken.decision, failed, warnings })
  return { failed }
}

/** Something that was thrown is an attempt that failed as well: the words of its condition, counted as a series. */
function toFailedAttempt(fault: unknown): FailedAttempt {
  const { reason, message } = toFailure(READY, fault)
  return { class: isPassing(fault) ? 'network' : 'internal', reason, message }
}

function toEnd({ decision, seen }: Taken, log: Log, guard: HotLoopGuard, id: string): TurnEnd {
  if (decision?.is === 'act') {
    const actions = decision.actions.map((action) => String((action as { do?: unknown } | null)?.do ?? 'act'))
    log.info('Acted', { actions })
    if (!guard.acted(id, seen)) return { again: 'now', result: 'requeue' }
    log.warn('Acting without progress', { actions })
    return { again: 'backoff', result: 'requeue' }
  }
  guard.settled(id)
  log.debug('Decided', { decision: decision?.is, reason: decision?.is === 'done' ? READY : decision?.reason })
  const seconds = decision?.retryAfterSeconds
  if (seconds === undefined) return REST
  return { again: { afterMs: seconds * 1000 }, result: 'requeue_after' }
}

/** Nothing holds the object any more: it is going, and nobody will read its status. */
function isOver(object: AnyObject): boolean {
  const { deletionTimestamp, finalizers = [] } = object.metadata
  return deletionTimestamp !== undefined && finalizers.length === 0
}

/** Somebody else was faster, or the cache is behind: look again, say nothing. */
function isOvertaken(fault: unknown): boolean {
  return isKubeError(fault, 'Conflict', 'NotFound', 'AlreadyExists')
}

function isPassing(fault: unknown): boolean {
  return isOvertaken(fault) || isKubeError(fault, 'Unreachable', 'TooManyRequests', 'ServerError', 'Expired')
}

function whereFrom(fault: unknown): { code?: string; stack?: string } {
  if (fault instanceof CaptError) return { code: fault.code }
  return fault instanceof Error && fault.stack ? { stack: redact(fault.stack) } : {}
}
