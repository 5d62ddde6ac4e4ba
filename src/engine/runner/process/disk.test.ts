// Room on the disk, with a reserve that all runs of one disk share.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { guardDisk, hasRoom, onWriteError } from './disk.ts'

const root = mkdtempSync(join(tmpdir(), 'capt-disk-'))
after(() => rmSync(root, { recursive: true, force: true }))

describe('the reserve on the disk', () => {
  it('is written once, and stays for the next run', () => {
    const shared = mkdtempSync(join(root, 'once-'))
    guardDisk(shared, () => undefined)()
    const first = statSync(join(shared, 'reserve'))
    guardDisk(shared, () => undefined)()
    const second = statSync(join(shared, 'reserve'))
    assert.deepEqual([first.size, second.ino, second.mtimeMs], [8 * 1024 * 1024, first.ino, first.mtimeMs])
    assert.ok(hasRoom(shared))
  })

  it('stops every run when one of them had to give it up', { timeout: 60_000 }, async () => {
    const shared = mkdtempSync(join(root, 'shared-'))
    const alarm = () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const stop = guardDisk(shared, resolve)
      return { promise, stop }
    }
    const alarms = [alarm(), alarm()]
    const hold = setInterval(() => undefined, 1000)
    rmSync(join(shared, 'reserve'))
    try {
      await Promise.all(alarms.map(({ promise }) => promise))
    } finally {
      clearInterval(hold)
      for (const { stop } of alarms) stop()
    }
  })

  it('is given up by the first write that finds the disk full, before anybody is called back', () => {
    const shared = mkdtempSync(join(root, 'write-'))
    const hasReserve = () => statSync(join(shared, 'reserve'), { throwIfNoEntry: false }) !== undefined
    const calls: boolean[] = []
    const stop = guardDisk(shared, () => calls.push(hasReserve()))
    onWriteError(Object.assign(new Error('no such file'), { code: 'ENOENT' }))
    assert.deepEqual([hasReserve(), calls], [true, []])
    for (let i = 0; i < 2; i++) onWriteError(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }))
    assert.deepEqual([hasReserve(), calls], [false, [false]])
    stop()
  })

  it('is not missed with the whole folder: that is another alarm', async () => {
    const shared = mkdtempSync(join(root, 'removed-'))
    const stop = guardDisk(shared, () => undefined)
    rmSync(shared, { recursive: true })
    // Longer than it takes to look once: an error there would end the process.
    await new Promise((resolve) => setTimeout(resolve, 700))
    stop()
  })
})
