// Numbers about runs and locks, taken from what the informers hold: nothing is asked of the API for them.
import { type AnyObject, APPLY_PHASES, conditionOf, WorkspaceTemplateApply } from '#api'
import type { Informers } from '#kube'
import type { Clock, Metrics } from '#lib'

type Run = NonNullable<NonNullable<WorkspaceTemplateApply['status']>['run']>

const ENDED: readonly string[] = ['Succeeded', 'Failed', 'Cancelled', 'Lost']
const SECONDS = [1, 5, 15, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600]

/** An informer of WorkspaceTemplateApply must be registered already. */
export function measureRuns(informers: Informers, metrics: Metrics, clock: Clock): void {
  const applies = () => informers.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, { brief: true })
  const open = () => applies().flatMap(({ status }) => (status?.run && !isOver(status.run) ? [status.run] : []))
  const waitingFor = (reason: string) =>
    applies().filter((apply) => conditionOf(apply, 'Ready')?.reason === reason).length

  const workspaces = metrics.gauge({
    name: 'capt_workspaces',
    about: 'WorkspaceTemplateApplies by phase.',
    labels: ['phase'],
  })
  for (const phase of APPLY_PHASES)
    workspaces.sample({ phase }, () => applies().filter(({ status }) => (status?.phase ?? 'Waiting') === phase).length)
  const one = (name: string, about: string, read: () => number) =>
    metrics.gauge({ name, about, labels: [] }).sample({}, read)
  one('capt_runs_in_progress', 'Terraform runs that have begun and not ended.', () => open().length)
  one('capt_run_oldest_seconds', 'How long the longest run in progress has taken so far.', () =>
    Math.max(0, ...open().map(({ startedAt }) => (clock.now() - Date.parse(startedAt ?? '')) / 1000 || 0)),
  )
  one('capt_locks_awaited', 'Runs that wait for a state lock of somebody else.', () => waitingFor('StateLocked'))
  one('capt_runs_unreachable', 'Runs whose holder is silent and cannot be proven dead.', () =>
    waitingFor('RunnerUnreachable'),
  )

  const ended = metrics.counter({
    name: 'capt_runs_total',
    about: 'Terraform runs that ended, by verb and result.',
    labels: ['verb', 'result'],
  })
  const took = metrics.histogram({
    name: 'capt_run_duration_seconds',
    about: 'Time from the start of a Terraform run to its end.',
    labels: ['verb'],
    buckets: SECONDS,
  })
  informers.onChange(WorkspaceTemplateApply, ({ object, old }) => {
    const run = runOf(object)
    const before = old && runOf(old)
    // The first list tells of runs that ended long ago; only an end that we saw counts.
    const wasOver = before !== undefined && before.id === run?.id && isOver(before)
    if (!run || !old || !isOver(run) || wasOver) return
    ended.add({ verb: run.verb ?? '', result: (run.phase ?? '').toLowerCase() })
    const seconds = (Date.parse(run.finishedAt ?? '') - Date.parse(run.startedAt ?? '')) / 1000
    if (Number.isFinite(seconds)) took.observe({ verb: run.verb ?? '' }, seconds)
  })
}

const runOf = (object: AnyObject): Run | undefined => (object as WorkspaceTemplateApply).status?.run
const isOver = ({ phase }: Run): boolean => phase !== undefined && ENDED.includes(phase)
