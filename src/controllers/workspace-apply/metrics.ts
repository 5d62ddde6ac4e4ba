// Numbers about runs, plans, faults and locks, taken from what the informers hold: nothing is asked of the API for them.
import { type AnyObject, APPLY_PHASES, DRIFT_RESULTS, QUEUE_REASONS, WorkspaceTemplateApply } from '#api'
import type { Informers } from '#kube'
import type { Clock, Metrics } from '#lib'
import { deletionAge } from '../shared/deletion-age.ts'
import { type ApplySummary, summarizeApply } from './summary.ts'

type Run = NonNullable<NonNullable<WorkspaceTemplateApply['status']>['run']>

const OPEN = ['Queued', 'Starting', 'Init', 'Plan', 'Apply', 'Save'] as const
const ENDED: readonly string[] = ['Succeeded', 'Planned', 'Failed', 'Cancelled', 'Lost']
const VERBS = ['apply', 'destroy'] as const
const SECONDS = [1, 5, 15, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600]

/** An informer of WorkspaceTemplateApply must be registered already. */
export function measureRuns(informers: Informers, metrics: Metrics, clock: Clock): void {
  const applies = () => informers.summaries(WorkspaceTemplateApply, summarizeApply)
  const unfinished = () => applies().filter(({ hasRun, runPhase }) => hasRun && !isOver(runPhase))
  const open = () => unfinished().filter(({ runPhase }) => runPhase !== 'Queued')
  const queued = () => unfinished().filter(({ runPhase }) => runPhase === 'Queued')
  const waitingFor = (reason: string) => applies().filter(({ readyReason }) => readyReason === reason).length

  const workspaces = metrics.gauge({
    name: 'capt_workspaces',
    about: 'WorkspaceTemplateApplies by phase.',
    labels: ['phase'],
  })
  for (const phase of APPLY_PHASES)
    workspaces.sample({ phase }, () => applies().filter((apply) => (apply.phase ?? 'Waiting') === phase).length)
  const one = (name: string, about: string, read: () => number) =>
    metrics.gauge({ name, about, labels: [] }).sample({}, read)
  one('capt_runs_in_progress', 'Terraform runs that have begun and not ended.', () => open().length)
  const oldest = (some: readonly ApplySummary[]) =>
    Math.max(0, ...some.map(({ runStartedAt }) => (clock.now() - Date.parse(runStartedAt ?? '')) / 1000 || 0))
  one('capt_run_oldest_seconds', 'How long the longest run in progress has taken so far.', () => oldest(open()))
  one('capt_run_queue_oldest_seconds', 'How long the run that waits longest has been in the queue.', () =>
    oldest(queued()),
  )
  const waiting = metrics.gauge({
    name: 'capt_runs_queued',
    about: 'Terraform runs that wait for a slot, by the limit that holds them back.',
    labels: ['reason'],
  })
  for (const reason of QUEUE_REASONS)
    waiting.sample(
      { reason },
      () => queued().filter((apply) => (apply.queueReason ?? 'AllSlotsTaken') === reason).length,
    )
  const phases = metrics.gauge({
    name: 'capt_runs',
    about: 'Runs in progress or in the queue, by phase.',
    labels: ['phase'],
  })
  for (const phase of OPEN)
    phases.sample({ phase }, () => unfinished().filter(({ runPhase }) => runPhase === phase).length)
  deletionAge(metrics, clock, 'WorkspaceTemplateApply', applies)
  one('capt_locks_awaited', 'Runs that wait for a state lock of somebody else.', () => waitingFor('StateLocked'))
  one('capt_plans_awaiting_approval', 'Plans that wait for approval.', () => waitingFor('ApprovalRequired'))
  one('capt_runs_unreachable', 'Runs whose holder is silent and cannot be proven dead.', () =>
    waitingFor('RunnerUnreachable'),
  )

  const ended = metrics.counter({
    name: 'capt_runs_total',
    about: 'Terraform runs that ended, by verb and result.',
    labels: ['verb', 'result'],
  })
  // From zero, so that Prometheus counts the first ones too: it cannot see a series begin.
  for (const verb of VERBS) for (const result of ['failed', 'lost']) ended.add({ verb, result }, 0)
  const took = metrics.histogram({
    name: 'capt_run_duration_seconds',
    about: 'Time from the start of a Terraform run to its end.',
    labels: ['verb'],
    buckets: SECONDS,
  })
  const faults = metrics.counter({
    name: 'capt_run_faults_total',
    about: 'Terraform runs that failed, by class of fault.',
    labels: ['class'],
  })
  const planned = metrics.counter({
    name: 'capt_planned_changes_total',
    about: 'Resources that the plans of ended runs would add, change, destroy or replace.',
    labels: ['action'],
  })
  measureDrift(informers, metrics, applies)
  informers.onChange(WorkspaceTemplateApply, ({ object, old }) => {
    const run = runOf(object)
    const before = old && runOf(old)
    // The first list contains runs that ended long ago; only an end that we saw counts.
    const wasOver = before !== undefined && before.id === run?.id && isOver(before.phase)
    if (!run || !old || !isOver(run.phase) || wasOver) return
    ended.add({ verb: run.verb ?? '', result: (run.phase ?? '').toLowerCase() })
    const { lastError, plan = {} } = statusOf(object) ?? {}
    if (run.phase === 'Failed' || run.phase === 'Lost') faults.add({ class: lastError?.kind ?? 'unknown' })
    for (const [action, count] of Object.entries(plan)) if (typeof count === 'number') planned.add({ action }, count)
    const seconds = (Date.parse(run.finishedAt ?? '') - Date.parse(run.startedAt ?? '')) / 1000
    if (Number.isFinite(seconds)) took.observe({ verb: run.verb ?? '' }, seconds)
  })
}

function measureDrift(informers: Informers, metrics: Metrics, applies: () => readonly ApplySummary[]): void {
  const found = metrics.gauge({
    name: 'capt_drift_workspaces',
    about: 'WorkspaceTemplateApplies by the answer of their last drift check.',
    labels: ['result'],
  })
  for (const result of DRIFT_RESULTS)
    found.sample({ result }, () => applies().filter(({ driftResult }) => driftResult === result).length)
  metrics
    .gauge({
      name: 'capt_drift_resources',
      about: 'Changes that applies would make to undo what somebody else changed.',
      labels: [],
    })
    .sample({}, () => applies().reduce((sum, { drifted }) => sum + drifted, 0))
  const checks = metrics.counter({
    name: 'capt_drift_checks_total',
    about: 'Drift checks that ended, by answer.',
    labels: ['result'],
  })
  informers.onChange(WorkspaceTemplateApply, ({ object, old }) => {
    const drift = statusOf(object)?.drift
    const before = old && statusOf(old)?.drift
    if (!old || drift?.result === undefined || drift.checkedAt === before?.checkedAt) return
    checks.add({ result: drift.result })
  })
}

const statusOf = (object: AnyObject) => (object as WorkspaceTemplateApply).status
const runOf = (object: AnyObject): Run | undefined => statusOf(object)?.run
const isOver = (phase: Run['phase']): boolean => phase !== undefined && ENDED.includes(phase)
