import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sink } from './process-io.ts'

describe('The width of an output', () => {
  for (const [what, columns, width] of [
    ['is that of the terminal', 90, 90],
    ['is 120 where the terminal has no size, as in a serial console or under script', 0, 120],
    ['is 120 where there is no terminal', undefined, 120],
  ] as const)
    it(what, () => assert.equal(sink(() => ({ columns }) as NodeJS.WriteStream).columns, width))
})
