// The whole kill matrix: every victim at every moment, and the other ways to lose a run.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { hasTerraform } from '../engine-world.ts'
import { surviveAbsence, surviveFullDisk, surviveStubbornResource, surviveTwoManagers } from '../recovery-more.ts'
import { killAndRecover } from '../recovery-story.ts'
import { MOMENTS, VICTIMS } from '../recovery-world.ts'

if (hasTerraform) {
  describe('a run survives', { concurrency: 2 }, () => {
    for (const victim of VICTIMS) {
      for (const moment of MOMENTS) {
        it(`kill -9 of ${victim} at the moment ${moment}`, () => killAndRecover(victim, moment))
      }
    }
    it('an API server that is away for a minute', () => surviveAbsence(60_000))
    it('two managers at once', () => surviveTwoManagers())
    it('being told to stop while a resource does not listen', () => surviveStubbornResource())
    if (canMount()) it('a disk that becomes full', () => surviveFullDisk({ mount, unmount }))
  })
}

/** A small disk of its own needs the right to mount; without it this one case is not there. */
function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'capt-mount-'))
  try {
    mount(folder)
    unmount(folder)
    return true
  } catch {
    return false
  } finally {
    rmdirSync(folder)
  }
}

function mount(folder: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', folder], { stdio: 'pipe' })
}

function unmount(folder: string): void {
  execFileSync('umount', ['-l', folder], { stdio: 'pipe' })
}
