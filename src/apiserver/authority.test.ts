import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { manualClock } from '#testing'
import { openAuthority } from './authority.ts'

const DAY_MS = 86_400_000
const folder = mkdtempSync(join(tmpdir(), 'capt-authority-'))
after(() => rmSync(folder, { recursive: true, force: true }))

describe('The authority of a data folder that is never closed', () => {
  it('is renewed a year before it ends, for the same key, and kept', async () => {
    const clock = manualClock()
    const file = join(folder, 'authority.json')
    const authority = openAuthority(file, clock.now())
    const first = authority.current()
    let renewals = 0
    const end = authority.keepValid(
      clock,
      () => renewals++,
      (message) => assert.fail(message),
    )
    await clock.advance(3283 * DAY_MS)
    assert.deepEqual([renewals, authority.current()], [0, first])
    await clock.advance(3 * DAY_MS)
    const second = authority.current()
    assert.equal(renewals, 1)
    assert.deepEqual([second.key, second.certificate === first.certificate], [first.key, false])
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), second)
    await clock.advance(3000 * DAY_MS)
    assert.equal(renewals, 1)
    end()
    assert.equal(clock.pending, 0)
  })

  it('goes on with the one of before when it cannot be written, and tries again the next day', async () => {
    const clock = manualClock()
    const disk = mkdtempSync(join(folder, 'disk-'))
    const authority = openAuthority(join(disk, 'authority.json'), clock.now())
    const first = authority.current()
    const logged: string[] = []
    const end = authority.keepValid(
      clock,
      () => assert.fail('it was not renewed'),
      (message) => logged.push(message),
    )
    rmSync(disk, { recursive: true })
    await clock.advance(3287 * DAY_MS)
    assert.deepEqual([authority.current(), new Set(logged).size, logged.length > 1], [first, 1, true])
    end()
  })
})
