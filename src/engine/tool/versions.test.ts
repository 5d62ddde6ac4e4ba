import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compareVersions, isVersion } from './versions.ts'

describe('versions of a tool', () => {
  const ascending = [
    '1.9.0',
    '1.9.8',
    '1.10.0-alpha20260101',
    '1.10.0-beta2',
    '1.10.0-beta10',
    '1.10.0-rc1',
    '1.10.0',
    '2.0.0',
  ]

  it('are ordered by number, a pre-release before its release', () => {
    for (const [i, a] of ascending.entries())
      for (const [j, b] of ascending.entries())
        assert.equal(Math.sign(compareVersions(a, b)), Math.sign(i - j), `${a} ${b}`)
  })

  it('are equal whatever their build', () => assert.equal(compareVersions('1.10.0+a', '1.10.0+b'), 0))

  it('have three numbers', () => {
    assert.deepEqual(['1.10', 'v1.10.0', '1.10.0', '1.10.0-rc1', ''].map(isVersion), [false, false, true, true, false])
  })
})
