// What a manager does on behalf of its runner while that is still starting: it writes the record, takes the lock and reads the
// state. Any of it may be missing: the runner does what was not done.
import { readFile } from 'node:fs'
import type { Versioned } from '../../record/record-store.ts'
import type { StateCopy } from '../../state/state-store.ts'

export interface Handover {
  /** The record, with the runner in it. */
  readonly seen: Versioned
  /** The lock is held in the runner's name. */
  readonly isLocked: boolean
  /** The saved state, read under that lock. */
  readonly saved?: StateCopy
}

/** Meant for this run and this very process. */
export function isFor({ seen }: Handover, runId: string): boolean {
  return seen.record.run?.id === runId && seen.record.run.runner?.pid === process.pid
}

const TIMEOUT_MS = 60_000

/**
 * Waits until the manager has written the handover, or is gone. A manager that is stopped while it writes may never go on, and
 * its successor would take us for a runner at work: we end, as nothing was begun. An ordinary exit would wait for the read.
 */
export function readHandover(timeoutMs = TIMEOUT_MS): Promise<Handover | undefined> {
  return new Promise((resolve) => {
    const end = setTimeout(() => process.kill(process.pid, 'SIGKILL'), timeoutMs)
    readFile(0, 'utf8', (error, text) => {
      clearTimeout(end)
      resolve(error ? undefined : parse(text))
    })
  })
}

/** Incomplete JSON comes from a manager that was killed. */
function parse(text: string): Handover | undefined {
  try {
    return JSON.parse(text) as Handover
  } catch {
    return undefined
  }
}
