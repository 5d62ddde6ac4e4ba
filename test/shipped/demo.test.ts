// `capt demo` from the shipped files alone: the whole story with real Terraform, whose picture the README shows, and ended
// before it is over, by its timeout, by Ctrl-C and by SIGTERM. UPDATE_GOLDEN=1 updates the picture.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { assertStory, structureOf } from '../support/demo-story.ts'
import { findTool } from '../support/tools.ts'
import { type Shipped, shippedProgram, waitUntil } from './support.ts'

const PICTURE = join(import.meta.dirname, '..', '..', 'docs', 'demo.svg')

describe('capt demo', { skip: findTool('terraform') ? false : 'terraform is not installed' }, () => {
  let shipped: Shipped
  let temp: string
  before(() => {
    shipped = shippedProgram()
    temp = join(shipped.folder, 'tmp')
    mkdirSync(temp)
  })
  after(() => shipped.end())
  const start = (...args: string[]) => shipped.start(['demo', ...args], { env: { TMPDIR: temp } })
  const files = () => readdirSync(temp)

  it('shows the whole story with real Terraform, and draws the picture of the README', async () => {
    const demo = start('--timeout', '10m', '--record', 'demo.svg')
    assertStory(await demo.ended, demo.out(), demo.err())
    assert.match(demo.out(), /^capt demo: .* terraform \d+\.\d+\.\d+ is real;/)
    const drawn = readFileSync(join(shipped.folder, 'demo.svg'), 'utf8')
    if (process.env['UPDATE_GOLDEN']) writeFileSync(PICTURE, drawn)
    const hint = 'docs/demo.svg is out of date: UPDATE_GOLDEN=1 node --test test/shipped/demo.test.ts updates it'
    assert.deepEqual(structureOf(drawn), structureOf(readFileSync(PICTURE, 'utf8')), hint)
    assert.deepEqual([shipped.processes(), files()], [[], []])
  })

  it('leaves no process and no file when its time is over, and shows how far it came', async () => {
    const demo = start('--timeout', '1s')
    const code = await demo.ended
    assert.deepEqual([shipped.processes(), files()], [[], []])
    assert.equal(code, 3, demo.err())
    assert.match(demo.out(), /^Cluster\/demo +not ready /m)
    assert.match(demo.err(), /Not ready: waiting .*--timeout gives a slow machine longer/)
  })

  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    it(`leaves no process and no file after ${signal}`, async () => {
      const demo = start()
      await waitUntil('the first run', () => shipped.runners().length > 0)
      await demo.stop(signal)
      assert.deepEqual([shipped.processes(), files()], [[], []])
      assert.match(demo.out(), /Left behind: 0 files, 0 processes/)
    })
})
