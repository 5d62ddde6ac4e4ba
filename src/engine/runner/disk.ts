// Room on the disk: a state that cannot be written is a state lost. A run does not begin without room, and there is a
// reserve, shared by all runs of the disk, that is given up when it fills, so that Terraform can still write its state.
import { rmSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from './folder.ts'

const NEEDED_BYTES = 24 * 1024 * 1024
const RESERVE_BYTES = 8 * 1024 * 1024
const LOW_BYTES = 2 * 1024 * 1024
const LOOK_MS = 500

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

/** Calls back once when the disk has become full; returns how to stop watching. The reserve stays for the next run. */
export function guardDisk(shared: string, onFull: () => void): () => void {
  // Written once, not for every run: eight MiB of zeros take longer than the rest of a start.
  if (!hasReserve(shared)) writeWhole(reserveOf(shared), Buffer.alloc(RESERVE_BYTES))
  const looking = setInterval(() => {
    // A reserve that is gone was given up by another run a moment ago: what it freed is for both.
    if (freeBytes(shared) > LOW_BYTES && hasReserve(shared)) return
    stop()
    rmSync(reserveOf(shared), { force: true })
    onFull()
  }, LOOK_MS)
  looking.unref()
  const stop = () => clearInterval(looking)
  return stop
}
