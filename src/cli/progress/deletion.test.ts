import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { firstFact } from './deletion.ts'

describe('What a deletion waits for', () => {
  for (const [what, message, fact] of [
    ['is the first line of a condition', 'Waiting for EKS\n  more', 'Waiting for EKS'],
    ['is shown without the mark of a list', '* Waiting for A: a\n* Waiting for B', 'Waiting for A: a'],
    ['is empty without a condition', undefined, ''],
  ] as const)
    it(what, () => assert.equal(firstFact(message), fact))
})
