import assert from 'node:assert/strict'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
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

  it('need not be planted where the program issued it', async () => {
    const shipped = shippedProgram()
    const home = await shipped.up('home', ['--engine', 'simulated', '--dashboard', 'off'])
    const token = /token: (\S+)/.exec(readFileSync(home.kubeconfig, 'utf8'))![1]!
    await home.stop()
    writeFileSync(join(shipped.folder, 'apply.log'), `asked with Bearer ${token}\n`)
    await assert.rejects(shipped.end(), new RegExp(`the token ${token.slice(0, 6)}`))
  })
})

describe('a secret in a suite', () => {
  const NAMES =
    'AWS_SECRET_ACCESS_KEY|AWS_SESSION_TOKEN|secretAccessKey|sessionToken|password|PASSWORD|signingKey|[A-Z_]*TOKEN'
  /** A text that is written out, encoded or not; not one made of others, nor the name of a key. */
  const LITERAL = new RegExp(
    `\\b(?:${NAMES})\\b['"\\]]*\\s*[:=]\\s*(?:Buffer\\.from\\(|encode\\()?(['"\`])(?!password'|\\$\\{)[^'"\`]{2,}`,
    'g',
  )
  const unplanted = (text: string): readonly string[] => text.match(LITERAL) ?? []

  it('is planted, so that the search finds it', () => {
    const root = join(import.meta.dirname, '../..')
    const others = globSync('**/*.ts', { cwd: root }).filter((path) => join(root, path) !== import.meta.filename)
    assert.deepEqual(
      others.flatMap((path) => unplanted(readFileSync(join(root, path), 'utf8'))),
      [],
    )
  })

  for (const [text, count] of [
    ["{ AWS_SECRET_ACCESS_KEY: 'hush' }", 1],
    ["const POD_TOKEN = 'of-the-pod'", 1],
    ["{ password: Buffer.from('hush') }", 1],
    ["{ secretAccessKey: planted('a') }", 0],
    ["{ password: Buffer.from(planted('a')) }", 0],
    ['{ password: SECRET }', 0],
  ] as const)
    it(`is ${count ? 'missed' : 'taken as planted'} in ${text}`, () => assert.equal(unplanted(text).length, count))
})
