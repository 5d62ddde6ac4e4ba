import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chooseLines } from './lines.ts'

const LINES = ['23:59:58 a', '23:59:59 b', '  more of b', '00:00:01 c', '00:10:00 d']
const STARTED = '2026-01-01T23:59:58.500Z'

describe('Lines of a log', () => {
  for (const [what, choice, expected] of [
    ['all of them', {}, LINES],
    ['the last two', { tail: 2 }, ['00:00:01 c', '00:10:00 d']],
    ['none', { tail: 0 }, []],
    ['those since a time, with what belongs to a line', { since: Date.parse('2026-01-01T23:59:59Z') }, LINES.slice(1)],
    ['those after midnight', { since: Date.parse('2026-01-02T00:00:00Z') }, ['00:00:01 c', '00:10:00 d']],
    ['both', { since: Date.parse('2026-01-01T23:59:59Z'), tail: 1 }, ['00:10:00 d']],
    ['those since a later time', { since: Date.parse('2026-01-03T00:00:00Z') }, []],
  ] as const)
    it(`are chosen: ${what}`, () => assert.deepEqual(chooseLines(LINES, choice, STARTED), expected))
})
