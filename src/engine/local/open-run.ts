// The record of a run that is about to begin, and the fault of one that ended without closing its record.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { redact } from '#lib'
import { ownIdentity } from '../lock/processes.ts'
import type { StartRequest } from '../port.ts'
import { identityOf } from '../queue/place.ts'
import { closeRun, isOpen, type Run, type RunRecord } from '../record/record.ts'
import { readText } from '../runner/inputs/folder.ts'
import { isCheckInterrupted } from '../runner/plan/check-drift.ts'

/**
 * A lost run with the same inputs keeps its name; otherwise it is closed and a new one begins. `isRenewed`: one that a
 * runner had claimed gets a new name too, so that its runner, if it lives where nobody sees it, is fenced by its own.
 */
export function openRun(
  before: RunRecord,
  request: StartRequest,
  folder: string,
  now: string,
  { isRenewed = false }: { readonly isRenewed?: boolean } = {},
): RunRecord {
  const { verb, hash, timeoutSeconds, retryToken, corrects } = request
  const { run } = before
  const isSame = run?.verb === verb && run.hash === hash && run.retryToken === retryToken
  const identity = identityOf(request, before)
  const base = { holder: ownIdentity(), folder, timeoutSeconds, ...(identity === undefined ? {} : { identity }) }
  if (isOpen(run) && isSame && !(isRenewed && run.runner)) {
    const { runner, job: _job, cancelling: _cancelling, ...rest } = run
    // One that never began was not interrupted.
    const resumed = run.resumed + (runner ? 1 : 0)
    return { ...before, run: { ...rest, ...base, phase: 'Starting', resumed } }
  }
  const closed = isOpen(run) ? closeRun(before, 'Lost', now, lostFault(run)) : before
  const isInterrupted = isOpen(run) && isSame
  const opened: Run = {
    ...base,
    id: randomUUID(),
    verb,
    hash,
    attempt: isInterrupted ? run.attempt : attemptAfter(isSame ? run : undefined, request.check !== undefined),
    phase: 'Queued',
    startedAt: now,
    ...(isSame ? { seriesStartedAt: run.seriesStartedAt ?? run.startedAt } : {}),
    resumed: isInterrupted ? run.resumed + 1 : 0,
    ...(retryToken === undefined ? {} : { retryToken }),
    ...(request.check ? { isCheck: true } : {}),
    ...(corrects === undefined ? {} : { corrects }),
  }
  return { ...closed, run: opened }
}

/** A run that applies what the last one planned is part of the same attempt. A check with an answer ends its series. */
export function attemptAfter(last: Run | undefined, isCheck = false): number {
  if (!last || (isCheck && !isCheckInterrupted(last.fault))) return 1
  return last.phase === 'Planned' ? last.attempt : last.attempt + 1
}

export const CANCELLED = {
  kind: 'cancelled',
  code: 'CAPT_RUN_CANCELLED',
  message: 'the run was cancelled before it began',
  hint: 'capt retry starts another one',
} as const

export function lostFault(run: Run) {
  const where = (run.runner ?? run.holder).host
  return {
    kind: 'lost',
    code: 'CAPT_RUN_LOST',
    message: `the ${run.verb} was interrupted: its runner on ${where} is gone${lastLogLine(run)}`,
    hint: 'the next attempt goes on from the saved state; look at status.suspects',
  } as const
}

/** The last line of the log of a runner on this machine. */
function lastLogLine({ folder }: Run): string {
  const line = readText(join(folder, 'runner.log'))?.trim().split('\n').at(-1) ?? ''
  return line === '' ? '' : `; its last log line: ${redact(line.slice(0, 300))}`
}
