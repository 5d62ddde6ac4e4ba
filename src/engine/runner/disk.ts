// Room on the disk: a state that cannot be written is a state lost. A run does not begin without room, and keeps some in
// reserve that is given up when the disk fills, so that Terraform can still write its state and stop in order.
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const NEEDED_BYTES = 24 * 1024 * 1024
const RESERVE_BYTES = 8 * 1024 * 1024
const LOW_BYTES = 2 * 1024 * 1024
const LOOK_MS = 500

export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

/** Calls back once when the disk has become full; returns how to stop watching. */
export function guardDisk(folder: string, onFull: () => void): () => void {
  const reserve = join(folder, 'reserve')
  writeFileSync(reserve, Buffer.alloc(RESERVE_BYTES), { mode: 0o600 })
  const looking = setInterval(() => {
    if (freeBytes(folder) > LOW_BYTES) return
    stop()
    onFull()
  }, LOOK_MS)
  looking.unref()
  const stop = () => {
    clearInterval(looking)
    rmSync(reserve, { force: true })
  }
  return stop
}
