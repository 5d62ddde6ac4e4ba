// `capt demo` from the shipped files alone, ended before it is over: by its timeout, by Ctrl-C and by SIGTERM.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { findTool } from '../support/tools.ts'
import { type Shipped, shippedProgram, waitUntil } from './support.ts'

describe('capt demo that is ended early', {
  skip: findTool('terraform') ? false : 'terraform is not installed',
}, () => {
  let shipped: Shipped
  let temp: string
  before(() => {
    shipped = shippedProgram()
    temp = join(shipped.folder, 'tmp')
    mkdirSync(temp)
  })
  after(() => shipped.end())
  const start = (...args: string[]) => shipped.start(['demo', ...args], { env: { TMPDIR: temp } })
  const homes = () => readdirSync(temp).filter((name) => name.startsWith('capt-demo-'))

  it('leaves no process when its time is over', async () => {
    const demo = start('--timeout', '1s')
    assert.equal(await demo.ended, 3, demo.err())
    assert.deepEqual(shipped.processes(), [])
  })

  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    it(`leaves no process and no file after ${signal}`, async () => {
      const before = homes().length
      const demo = start()
      await waitUntil('the first run', () => shipped.runners().length > 0)
      await demo.stop(signal)
      assert.deepEqual(shipped.processes(), [])
      assert.match(demo.out(), /Left behind: 0 files, 0 processes/)
      assert.equal(homes().length, before)
    })
})
