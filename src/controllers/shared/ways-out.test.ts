import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { anApply } from '#testing'
import { nameCommands, waysOut } from './ways-out.ts'

const engine = new URL('../../engine', import.meta.url).pathname
const hints = globSync('**/*.ts', { cwd: engine })
  .filter((file) => !file.endsWith('.test.ts'))
  .flatMap((file) => [
    ...readFileSync(`${engine}/${file}`, 'utf8').matchAll(/\bhint: '(.*\bcapt (?:retry|logs|state)\b.*)'/g),
  ])
  .map(([, hint]) => hint!)

describe('A hint of a failed run', () => {
  it('is found in the sources', () => assert.ok(hints.length >= 10, String(hints.length)))
  for (const hint of new Set(hints))
    it(`names the apply in every command: ${hint}`, () => {
      const named = nameCommands(hint, 'demo-vpc')
      assert.deepEqual(named.match(/\bcapt (?:retry|logs|state list)(?! demo-vpc\b)/g), null, named)
    })
  it('keeps a name that it has', () =>
    assert.equal(nameCommands('then: capt retry other', 'demo'), 'then: capt retry other'))

  it('is not repeated by the ways out of a deletion, which end with the same command', () => {
    const text = waysOut(anApply({}, { name: 'demo' }), 'raise the quota, then: capt retry demo')
    assert.match(text, /^Ways out: remove the cause \(raise the quota\), then capt retry demo -n default; or /)
  })
})
