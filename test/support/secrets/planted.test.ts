import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { shippedProgram } from '../../shipped/support.ts'
import { leaksIn, planted } from './planted.ts'

const SECRET = planted('of-this-test/+"x" é')

describe('a planted secret', () => {
  for (const [form, text] of Object.entries({
    plain: `key ${SECRET} end`,
    'in JSON': JSON.stringify({ password: SECRET }),
    'in a query': new URLSearchParams({ c: SECRET }).toString(),
    'in base64': Buffer.from(SECRET).toString('base64'),
    'in base64, after one letter': Buffer.from(`a${SECRET}`).toString('base64'),
    'in base64, after two letters': Buffer.from(`ab${SECRET}`).toString('base64'),
    'in base64url': Buffer.from(`abcd${SECRET}`).toString('base64url'),
  }))
    it(`is found ${form}`, () => assert.equal(leaksIn(text).length, 1, text))

  it('is not found where there is none', () => assert.deepEqual(leaksIn('Y2FuYXJ5 canary cnr y-'), []))

  it('fails the test file whose program says it', async () => {
    const shipped = shippedProgram()
    await shipped.capt([planted('said')])
    await assert.rejects(shipped.end(), /cnry-said/)
  })

  it('fails the test file whose program logs it', async () => {
    const shipped = shippedProgram()
    mkdirSync(join(shipped.folder, 'runs'))
    writeFileSync(join(shipped.folder, 'runs', 'apply.log'), `password = ${planted('logged')}\n`)
    await assert.rejects(shipped.end(), /cnry-logged/)
  })
})
