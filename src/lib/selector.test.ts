import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { matchesExpression } from './selector.ts'

describe('A match expression', () => {
  for (const [operator, values, value, expected] of [
    ['In', ['a', 'b'], 'b', true],
    ['In', ['a'], 'b', false],
    ['In', ['a'], undefined, false],
    ['NotIn', ['a'], 'b', true],
    ['NotIn', ['a'], 'a', false],
    ['NotIn', ['a'], undefined, true],
    ['Exists', undefined, '', true],
    ['Exists', undefined, undefined, false],
    ['DoesNotExist', undefined, undefined, true],
    ['DoesNotExist', undefined, '', false],
    ['Gt', ['2'], '10', true],
    ['Gt', ['2'], 'x', false],
    ['Lt', ['2'], undefined, false],
    ['Like', ['a'], 'a', false],
  ] as const)
    it(`${operator} ${values?.join(',') ?? ''} ${expected ? 'matches' : 'does not match'} ${JSON.stringify(value) ?? 'no value'}`, () =>
      assert.equal(matchesExpression({ operator, values }, value), expected))
})
