// The record of a run that is about to begin, and what is said about one that ended without saying anything.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { redact } from '#lib'
import type { StartRequest } from '../port.ts'
import { ownIdentity } from '../processes.ts'
import { closeRun, isOpen, type Run, type RunRecord } from '../record/record.ts'
import { readText } from '../runner/folder.ts'

/** A lost run with the same inputs keeps its name; otherwise it is closed and a new one begins. */
export function openRun(before: RunRecord, request: StartRequest, folder: string, now: string): RunRecord {
  const { verb, hash, timeoutSeconds, retryToken } = request
  const { run } = before
  const isSame = run?.verb === verb && run.hash === hash && run.retryToken === retryToken
  const base = { holder: ownIdentity(), folder, timeoutSeconds }
  if (isOpen(run) && isSame) {
    const { runner, ...rest } = run
    // One that never began was not interrupted.
    const resumed = run.resumed + (runner ? 1 : 0)
    return { ...before, run: { ...rest, ...base, phase: 'Starting', resumed } }
  }
  const closed = isOpen(run) ? closeRun(before, 'Lost', now, lostFault(run)) : before
  const opened: Run = {
    ...base,
    id: randomUUID(),
    verb,
    hash,
    attempt: isSame ? run.attempt + 1 : 1,
    phase: 'Queued',
    startedAt: now,
    ...(isSame ? { seriesStartedAt: run.seriesStartedAt ?? run.startedAt } : {}),
    resumed: 0,
    ...(retryToken === undefined ? {} : { retryToken }),
  }
  return { ...closed, run: opened }
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
    message: `the ${run.verb} was interrupted: its runner on ${where} is gone${lastWords(run)}`,
    hint: 'the next attempt goes on from the saved state; look at status.suspects',
  } as const
}

/** What the runner said last, when it ran on this machine and said anything. */
function lastWords({ folder }: Run): string {
  const line = readText(join(folder, 'runner.log'))?.trim().split('\n').at(-1) ?? ''
  return line === '' ? '' : `; it said: ${redact(line.slice(0, 300))}`
}
