// What is known about drift of one apply: whether checks are due, what the last one answered, and whether that still holds.
import { CHECK_DRIFT_ANNOTATION, type WorkspaceTemplate, type WorkspaceTemplateApply } from '#api'
import {
  backoffSeconds,
  type CheckedState,
  checksKey,
  type DriftReport,
  type Engine,
  isCheckInterrupted,
  type Owner,
  type Rendering,
  type Run,
  type RunRecord,
  type WorkspaceView,
} from '#engine'
import { hashOf, isCaptError, parseDuration } from '#lib'

interface DriftSettings {
  readonly mode: 'Report' | 'Correct'
  readonly intervalSeconds: number
}

/** `unknown`: the check failed. */
type DriftAnswer =
  | { readonly is: 'found'; readonly report: DriftReport }
  | { readonly is: 'unknown'; readonly message: string; readonly at: string }

export interface ObservedDrift {
  /** Undefined: drift detection is off. */
  readonly settings: DriftSettings | undefined
  /** The checks, which are runs of a workspace of their own; undefined where there can be none. */
  readonly checks: WorkspaceView | undefined
  /** The last answer, as long as nothing has changed since. */
  readonly answer: DriftAnswer | undefined
  /** Seconds until the next check; zero or less means now. */
  readonly dueInSeconds: number
  /** Value of the annotation that asks for a check. */
  readonly request: string | undefined
}

export const NO_DRIFT_DETECTION: ObservedDrift = {
  settings: undefined,
  checks: undefined,
  answer: undefined,
  dueInSeconds: Number.POSITIVE_INFINITY,
  request: undefined,
}

/** The apply decides, then its template. */
export async function observeDrift(
  engine: Pick<Engine, 'observe'>,
  apply: WorkspaceTemplateApply,
  template: WorkspaceTemplate | undefined,
  record: RunRecord | undefined,
  rendering: Rendering | undefined,
  nowMs: number,
): Promise<ObservedDrift> {
  const given = apply.spec.driftDetection ?? template?.spec.driftDetection
  const settings = given && { mode: given.mode, intervalSeconds: parseDuration(given.interval) / 1000 }
  const isSpeculative = apply.spec.speculativeFor !== undefined
  if ((!settings && !apply.status?.drift) || !record?.applied || isSpeculative) return NO_DRIFT_DETECTION
  const { namespace = '', name } = apply.metadata
  const checks = await observeChecks(engine, { namespace, name })
  const request = apply.metadata.annotations?.[CHECK_DRIFT_ANNOTATION]
  if (!settings) return { ...NO_DRIFT_DETECTION, checks }
  const inputs = rendering?.ok ? rendering.workspace.hash : undefined
  const lastCheck = checks.record?.run
  const dueMs = repeatAt(lastCheck, nowMs) ?? dueAt(record, checks.record, settings, `${namespace}/${name}`, nowMs)
  const isAsked = request !== undefined && request !== lastCheck?.retryToken
  return {
    settings,
    checks,
    answer: answerOf(record, checks.record, inputs),
    dueInSeconds: isAsked ? 0 : Math.ceil((dueMs - nowMs) / 1000),
    request,
  }
}

export const checksOwner = (owner: Owner): Owner => ({ ...owner, ...checksKey(owner), checks: owner.name })

/** A record of checks that cannot be read counts as missing: a new one is created. */
async function observeChecks(
  engine: Pick<Engine, 'observe'>,
  key: { readonly namespace: string; readonly name: string },
): Promise<WorkspaceView> {
  try {
    return await engine.observe(checksKey(key))
  } catch (error) {
    if (!isCaptError(error, 'CAPT_RECORD_UNREADABLE')) throw error
    return { record: undefined, activity: 'unreachable', cancelling: false }
  }
}

/**
 * Every apply has its own time within the interval, so that a thousand of them are not checked together when checks are
 * turned on or the manager starts: a time that was missed by more than a tenth of the interval is skipped. A check never
 * follows an apply or another check within a tenth of the interval.
 */
export function dueAt(
  { applied }: Pick<RunRecord, 'applied'>,
  checks: Pick<RunRecord, 'run'> | undefined,
  { intervalSeconds }: Pick<DriftSettings, 'intervalSeconds'>,
  id: string,
  nowMs: number,
): number {
  const intervalMs = intervalSeconds * 1000
  const phaseMs = (Number.parseInt(hashOf(id).slice(0, 8), 16) / 2 ** 32) * intervalMs
  const lastMs = Math.max(...[applied?.at, checks?.run?.finishedAt].map((at) => Date.parse(at ?? '') || 0))
  const afterMs = Math.max(lastMs + intervalMs / 10, nowMs - intervalMs / 10)
  return Math.ceil((afterMs - phaseMs) / intervalMs) * intervalMs + phaseMs
}

/** A check that is interrupted so often in a row is answered with CannotTell. */
const MAX_REPEATS = 5
export const isRepeated = (check: Run): boolean => isCheckInterrupted(check.fault) && check.attempt <= MAX_REPEATS

/** When an interrupted check is repeated; undefined when the last one has an answer. */
export function repeatAt(check: Run | undefined, nowMs: number): number | undefined {
  if (check?.finishedAt === undefined || !isRepeated(check)) return undefined
  const finishedMs = Date.parse(check.finishedAt)
  // By the clock of another host, which is ahead of ours: how long ago it was is not known.
  if (finishedMs > nowMs) return nowMs
  const { kind, code } = check.fault!
  // A check is cancelled when the apply is paused or deleted: now it is neither.
  return finishedMs + (code === 'CAPT_RUN_CANCELLED' ? 0 : backoffSeconds(kind, check.attempt) * 1000)
}

/** Undefined when there is none, or when it does not hold any more. */
export function answerOf(
  record: RunRecord,
  checks: RunRecord | undefined,
  inputs: string | undefined,
): DriftAnswer | undefined {
  const { run, drift: report } = checks ?? {}
  const fault = run?.fault
  if (run?.finishedAt !== undefined && fault && !isRepeated(run)) {
    const isSuperseded = run.finishedAt < (record.applied?.at ?? '')
    return isSuperseded ? undefined : { is: 'unknown', message: fault.message, at: run.finishedAt }
  }
  if (!report || !holds(report.of, record)) return undefined
  return inputs === undefined || report.of.inputs === inputs ? { is: 'found', report } : undefined
}

function holds({ applied, serial, lineage }: CheckedState, { applied: last, state }: RunRecord): boolean {
  if (applied !== last?.runId) return false
  return serial === undefined || (serial === state?.serial && lineage === state.lineage)
}
