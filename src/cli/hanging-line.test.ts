import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hangingLine } from './hanging-line.ts'

const HINT = 'allow eks:CreateCluster to role capt, then: capt retry demo-vpc'
const CASES = [
  ['breaks between words on a terminal', '  hint ', HINT, true, 50, 'the next step stands below the first word'],
  ['keeps a line that fits', '  hint ', HINT, true, 200, ''],
  ['is whole off a terminal', '  hint ', HINT, false, 50, ''],
  ['keeps a text that has lines of its own', 'error: ', `${HINT}\n${HINT}`, true, 50, ''],
] as const

describe('a hanging line', () => {
  for (const [name, head, text, isTerminal, columns, broken] of CASES)
    it(name, () => {
      const line = hangingLine(head, text, { isTerminal, columns })
      if (broken === '') return assert.equal(line, `${head}${text}\n`)
      const lines = line.trimEnd().split('\n')
      assert.ok(lines.length > 1 && lines.every((one) => one.length <= columns), line)
      assert.ok(
        lines.slice(1).every((one) => one.startsWith(' '.repeat(head.length)) && one[head.length] !== ' '),
        broken,
      )
      assert.equal(lines.map((one, i) => (i === 0 ? one.slice(head.length) : one.trim())).join(' '), text)
    })

  it('goes below a head that leaves no room', () =>
    assert.equal(
      hangingLine('a head of twenty letters ', 'and a text', { isTerminal: true, columns: 30 }),
      'a head of twenty letters\n          and a text\n',
    ))
})
