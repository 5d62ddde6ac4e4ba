import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { rememberRecent } from './recent.ts'

describe('what was worked out for a text', () => {
  it('is worked out once for the last few texts, and again for one that was forgotten', () => {
    const worked: string[] = []
    const shout = rememberRecent(2, (text) => {
      worked.push(text)
      return text.toUpperCase()
    })
    assert.deepEqual(['a', 'b', 'a', 'c', 'b', 'a'].map(shout), ['A', 'B', 'A', 'C', 'B', 'A'])
    assert.deepEqual(worked, ['a', 'b', 'c', 'a'])
  })

  it('is not remembered when the work failed', () => {
    let worked = 0
    const refuse = rememberRecent(2, (): string => {
      worked++
      throw new Error('no')
    })
    assert.throws(() => refuse('a'))
    assert.throws(() => refuse('a'))
    assert.equal(worked, 2)
  })
})
