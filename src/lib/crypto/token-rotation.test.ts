import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  fromTokenText,
  isOneOf,
  issueToken,
  replacedAt,
  rotateTokens,
  type TokenSet,
  toTokenText,
  validTokens,
} from './token-rotation.ts'

const LIFETIME = 90
const first = issueToken('a', 0)
const second: TokenSet = { current: 'b', issuedAt: 60, former: [{ token: 'a', endsAt: 90 }] }

describe('A bearer token', () => {
  for (const [what, set, now, expected] of [
    ['stays while two thirds of its lifetime are not over', first, 59, first],
    ['is replaced then, and its predecessor works for another third', first, 60, second],
    ['that replaced another is the only one after the overlap', second, 90, { ...second, former: [] }],
    [
      'that is overdue after a long stop is replaced with the whole overlap',
      first,
      1000,
      { current: 'b', issuedAt: 1000, former: [{ token: 'a', endsAt: 1030 }] },
    ],
  ] as const)
    it(what, () =>
      assert.deepEqual(
        rotateTokens(set, now, LIFETIME, () => 'b'),
        expected,
      ),
    )

  it('that is not due is the very same set, so that nothing is written', () =>
    assert.equal(
      rotateTokens(second, 89, LIFETIME, () => 'c'),
      second,
    ))

  it('is replaced sooner when its lifetime was shortened, and the overlap is the new one', () => {
    assert.equal(replacedAt(first, 9), 6)
    assert.deepEqual(rotateTokens(first, 30, 9, () => 'b').former, [{ token: 'a', endsAt: 33 }])
  })

  it('works until its end, also before the next rotation removes it', () => {
    assert.deepEqual(validTokens(second, 89), ['b', 'a'])
    assert.deepEqual(validTokens(second, 90), ['b'])
  })

  it('is accepted only as a whole', () => {
    assert.deepEqual(
      ['b', 'a', '', 'ab', 'B'].map((token) => isOneOf(token, ['b', 'a'])),
      [true, true, false, false, false],
    )
  })

  it('is stored with its predecessors; one of an earlier version counts from now', () => {
    assert.deepEqual(fromTokenText(toTokenText(second), 500), second)
    assert.deepEqual(fromTokenText('bare_token', 500), issueToken('bare_token', 500))
  })
})
