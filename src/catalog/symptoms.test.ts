// The table of docs/troubleshooting.md and what `capt explain` answers are the same.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { codeForText, SYMPTOMS } from './symptoms.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/troubleshooting.md'), 'utf8')
const ROWS = [...PAGE.matchAll(/^\| `(.+?)` \| \[(CAPT_\w+)\]\(errors\.md#(\w+)\) \|$/gm)]

describe('docs/troubleshooting.md', () => {
  for (const [, text, code, anchor] of ROWS)
    it(`explains "${text}" by ${code}`, () => {
      assert.equal(codeForText(text!), code)
      assert.equal(anchor, code!.toLowerCase())
    })

  it('names every text that capt knows', () => {
    const named = new Set(ROWS.map(([, , code]) => code))
    assert.deepEqual(
      SYMPTOMS.map(({ code }) => code).filter((code) => !named.has(code)),
      [],
    )
  })
})
