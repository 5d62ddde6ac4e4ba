// Free disk space: a state that cannot be written is lost. A run does not begin without free space, and there is a
// reserve, shared by all runs of the disk, that is given up when it fills, so that Terraform can still write its state.
import { rmSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../inputs/folder.ts'

const NEEDED_BYTES = 24 * 1024 * 1024
const RESERVE_BYTES = 8 * 1024 * 1024
const LOW_BYTES = 2 * 1024 * 1024
const POLL_MS = 500

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

const reserveOf = (shared: string): string => join(shared, 'reserve')

function hasReserve(shared: string): boolean {
  return statSync(reserveOf(shared), { throwIfNoEntry: false })?.size === RESERVE_BYTES
}

/** Whether a run may begin below this folder. */
export function hasRoom(shared: string): boolean {
  return freeBytes(shared) + (hasReserve(shared) ? RESERVE_BYTES : 0) >= NEEDED_BYTES
}

/** Gives up the reserve for the run of this process. */
const guards = new Set<() => void>()

/** For every write that may fail, such as that of a log: a full disk is noticed by the first of them. */
export function onWriteError(error: unknown): void {
  const { code } = (error ?? {}) as NodeJS.ErrnoException
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return
  for (const giveUp of guards) giveUp()
}

/** Calls back once when the disk has become full; returns how to stop watching. The reserve stays for the next run. */
export function guardDisk(shared: string, onFull: () => void): () => void {
  // Written once, not for every run: eight MiB of zeros take longer than the rest of a start.
  if (!hasReserve(shared)) writeWhole(reserveOf(shared), Buffer.alloc(RESERVE_BYTES))
  const stop = () => {
    clearInterval(polling)
    guards.delete(giveUp)
  }
  const giveUp = () => {
    stop()
    // Free the space first: the callback writes.
    rmSync(reserveOf(shared), { force: true })
    onFull()
  }
  const polling = setInterval(() => {
    // A reserve that is gone was just given up by another run: what it freed is for both.
    if (!isLow(shared) && hasReserve(shared)) return
    giveUp()
  }, POLL_MS)
  polling.unref()
  guards.add(giveUp)
  return stop
}

/** A folder that is gone is not full; its run notices that by itself. */
function isLow(shared: string): boolean {
  try {
    return freeBytes(shared) <= LOW_BYTES
  } catch {
    return false
  }
}
