// Terraform runs as rows: those in progress first, then the queue in its order, then what ended, newest first.
import type { WorkspaceTemplateApply } from '#api'
import { formatDuration } from '#lib'

type Run = NonNullable<NonNullable<WorkspaceTemplateApply['status']>['run']>

export const RUN_HEAD = ['NAME', 'VERB', 'PHASE', 'POSITION', 'AGE', 'REASON'] as const

/** An apply and its run: the one in progress, or the last one. Applies that never ran are left out. */
export function runRows(applies: readonly WorkspaceTemplateApply[], now: number) {
  return applies
    .flatMap((apply) => (apply.status?.run ? [{ apply, run: apply.status.run }] : []))
    .sort((a, b) => rankOf(a.run) - rankOf(b.run) || orderOf(a.run) - orderOf(b.run) || byName(a.apply, b.apply))
    .map(({ apply, run }) => ({
      apply,
      cells: [
        apply.metadata.name,
        run.verb ?? '',
        run.phase ?? '',
        run.queue?.position === undefined ? '' : String(run.queue.position),
        ageOf(run, now),
        reasonOf(apply, run),
      ],
    }))
}

const rankOf = (run: Run): number => (run.finishedAt !== undefined ? 2 : run.phase === 'Queued' ? 1 : 0)

function orderOf({ finishedAt, startedAt, queue }: Run): number {
  if (finishedAt !== undefined) return -Date.parse(finishedAt)
  return (queue?.position ?? 0) * 1e13 + Date.parse(startedAt ?? '')
}

const byName = (a: WorkspaceTemplateApply, b: WorkspaceTemplateApply): number =>
  `${a.metadata.namespace}/${a.metadata.name}` < `${b.metadata.namespace}/${b.metadata.name}` ? -1 : 1

/** Of a run that ended: how long ago. */
function ageOf({ startedAt, finishedAt }: Run, now: number): string {
  const since = Date.parse(finishedAt ?? startedAt ?? '')
  return Number.isNaN(since) ? '' : formatDuration(Math.max(0, now - since))
}

/** Why it waits, what it does, or what it failed with. */
function reasonOf({ status }: WorkspaceTemplateApply, run: Run): string {
  if (run.queue?.reason !== undefined) return run.queue.reason
  if (run.finishedAt === undefined) return [run.progress, run.address].filter(Boolean).join(' ')
  return status?.lastError?.code ?? ''
}
