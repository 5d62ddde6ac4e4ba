// One reconcile of any controller: observe, decide, act, report. The status is written once, at the end, also after a
// failure, and not at all when nothing changed. The result contains when the object is reconciled next.
import { randomUUID } from 'node:crypto'
import { type AnyObject, conditionOf, type Key, keyOf, keyText } from '#api'
import { isKubeError, type Projected } from '#kube'
import { CaptError, type Log, messageOf, redact } from '#lib'
import type { AnyController, FailedAttempt, StatusReport, World } from './controller.ts'
import type { Decision } from './decision.ts'
import { HotLoopGuard } from './queue/hot-loop.ts'
import type { ReconcileResult } from './queue/metrics.ts'
import type { Again } from './queue/queue.ts'
import { announce } from './status/announce.ts'
import { toStatusChange } from './status/status-change.ts'
import { READY, summarize, toFailure } from './status/summary.ts'

interface ReconcileEnd {
  readonly again: Again
  readonly result: ReconcileResult
  /** Classes of the attempts whose failure was reported in this reconcile. */
  readonly failed?: readonly string[]
}

/** `failures`: how often in a row the key has come back by backoff. */
type Reconcile = (key: Key, failures: number) => Promise<ReconcileEnd>

interface ReconcileOptions {
  /** Objects for which it returns false are ignored (the watch filter). */
  readonly accepts?: (object: AnyObject) => boolean
}

/** Retries before a transient error is reported: about five seconds of backoff. */
const SILENT_RETRIES = 10

const IDLE: ReconcileEnd = { again: 'never', result: 'success' }

export function createReconcile(controller: AnyController, world: World, options: ReconcileOptions = {}): Reconcile {
  const { accepts = () => true } = options
  const guard = new HotLoopGuard()

  return async function reconcile(key, failures) {
    const id = keyText(key)
    const object = world.cache.get(controller.kind, key)
    if (!object || !accepts(object) || controller.accepts?.(object) === false) {
      guard.settled(id)
      return IDLE
    }
    const keys = { controller: controller.name, [controller.kind.kind]: id, reconcileID: randomUUID() }
    const log = world.log.with(keys)
    const outcome = await runSteps(controller, { ...world, log }, object)
    if (outcome.fault === undefined && outcome.decision?.is === 'waiting' && outcome.decision.unreported)
      return toEnd(outcome, log, guard, id)
    const isDeferred =
      outcome.fault === undefined && outcome.decision?.is === 'act' && controller.defersStatus?.(outcome.observed)
    const early = isDeferred ? toEnd(outcome, log, guard, id) : undefined
    if (early?.again === 'now') return early
    const hidden = isTransient(outcome.fault) && failures < SILENT_RETRIES
    const written = await report(controller, world, object, outcome, hidden)

    const fault = outcome.fault ?? written.fault
    if (written.gone) {
      guard.settled(id)
      return IDLE
    }
    const failed = (written.failed ?? []).map((attempt) => attempt.class)
    const ending = failed.length > 0 ? { failed } : {}
    if (fault !== undefined) {
      if (isConflict(fault) && failures < SILENT_RETRIES) return { again: 'backoff', result: 'requeue', ...ending }
      log.error('Reconcile failed', { error: redact(messageOf(fault)), ...whereFrom(fault) })
      return { again: 'backoff', result: 'error', ...ending }
    }
    return { ...(early ?? toEnd(outcome, log, guard, id)), ...ending }
  }
}

interface Outcome {
  readonly observed?: unknown
  readonly decision?: Decision<unknown>
  readonly status: StatusReport
  readonly fault?: unknown
}

async function runSteps(controller: AnyController, world: World, object: Projected<AnyObject>): Promise<Outcome> {
  let observed: unknown
  let decision: Decision<unknown> | undefined
  let fault: unknown
  try {
    observed = await controller.observe(world, object)
    decision = controller.decide(observed)
    for (const action of decision.is === 'act' ? decision.actions : []) await controller.act(world, observed, action)
  } catch (error) {
    fault = error ?? new Error('Something threw nothing')
  }
  if (decision === undefined) return { observed, status: {}, fault }
  try {
    return { observed, decision, status: controller.status(observed, decision), fault }
  } catch (error) {
    return { observed, decision, status: {}, fault: fault ?? error }
  }
}

async function report(
  controller: AnyController,
  world: World,
  object: Projected<AnyObject>,
  outcome: Outcome,
  hidden: boolean,
): Promise<{ readonly gone?: boolean; readonly fault?: unknown; readonly failed?: readonly FailedAttempt[] }> {
  const { kind } = controller
  const key = keyOf(object)
  // Acting may have changed the object; the cache already has what was written.
  const latest = world.cache.get(kind, key)
  if (!latest || isGone(latest) || latest.metadata.uid !== object.metadata.uid) return { gone: true }

  const type = controller.summary ?? READY
  const summary =
    type === false || hidden ? undefined : summarize(type, outcome.decision, outcome.fault, conditionOf(latest, type))
  const nowMs = world.clock.now()
  const change = toStatusChange({ kind, observed: object, latest, report: outcome.status, summary, nowMs })
  try {
    const { resourceVersion } = latest.metadata
    const body = { metadata: { resourceVersion }, status: change?.patch }
    if (change) await world.objects.patch(kind, key, { type: 'merge', body }, { subresource: 'status' })
  } catch (error) {
    return isKubeError(error, 'NotFound') ? { gone: true } : { fault: error }
  }
  if (type === false) return {}
  const thrown = outcome.fault === undefined || hidden ? [] : [toFailedAttempt(outcome.fault)]
  const failed = [...thrown, ...(outcome.status.failed ?? [])]
  const { warnings = [], ended = [] } = change ? outcome.status : {}
  if (!change && failed.length === 0) return {}
  const now = change?.conditions ?? []
  announce(world.events, { before: latest, type, now, decision: outcome.decision, failed, warnings, ended })
  return { failed }
}

/** A thrown error is a failed attempt too, with the text of its condition, so that repeats are one series. */
function toFailedAttempt(fault: unknown): FailedAttempt {
  const { reason, message } = toFailure(READY, fault)
  return { class: isTransient(fault) ? 'network' : 'internal', reason, message }
}

function toEnd({ decision, observed }: Outcome, log: Log, guard: HotLoopGuard, id: string): ReconcileEnd {
  if (decision?.is === 'act') {
    const actions = decision.actions.map((action) => String((action as { do?: unknown } | null)?.do ?? 'act'))
    log.info('Acted', { actions })
    if (!guard.acted(id, observed)) return { again: 'now', result: 'requeue' }
    log.warn('Acting without progress', { actions })
    return { again: 'backoff', result: 'requeue' }
  }
  guard.settled(id)
  log.debug('Decided', { decision: decision?.is, reason: decision?.is === 'done' ? READY : decision?.reason })
  const seconds = decision?.retryAfterSeconds
  if (seconds === undefined) return IDLE
  return { again: { afterMs: seconds * 1000 }, result: 'requeue_after' }
}

/** Being deleted without finalizers: its status is not read any more. */
function isGone(object: AnyObject): boolean {
  const { deletionTimestamp, finalizers = [] } = object.metadata
  return deletionTimestamp !== undefined && finalizers.length === 0
}

/** Another writer was faster, or the cache is behind: retried without a report. */
function isConflict(fault: unknown): boolean {
  return isKubeError(fault, 'Conflict', 'NotFound', 'AlreadyExists')
}

function isTransient(fault: unknown): boolean {
  return isConflict(fault) || isKubeError(fault, 'Unreachable', 'TooManyRequests', 'ServerError', 'Expired')
}

function whereFrom(fault: unknown): { code?: string; stack?: string } {
  if (fault instanceof CaptError) return { code: fault.code }
  return fault instanceof Error && fault.stack ? { stack: redact(fault.stack) } : {}
}
