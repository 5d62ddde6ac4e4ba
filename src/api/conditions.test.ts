import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { conditionOf, isTrue } from './conditions.ts'
import type { AnyObject, Condition } from './object.ts'

const condition = (type: string, status: Condition['status']): Condition => ({
  type,
  status,
  reason: 'R',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
})
const object = {
  apiVersion: 'v1',
  kind: 'X',
  metadata: { name: 'x' },
  status: { conditions: [condition('Ready', 'True'), condition('Up', 'Unknown')] },
} as AnyObject

describe('conditions', () => {
  it('hold only when they say True', () => {
    assert.deepEqual([isTrue(object, 'Ready'), isTrue(object, 'Up'), isTrue(object, 'Missing')], [true, false, false])
  })

  it('are found by type, also on an object that has no status yet', () => {
    assert.equal(conditionOf(object, 'Up')?.status, 'Unknown')
    assert.equal(conditionOf({ apiVersion: 'v1', kind: 'X', metadata: { name: 'x' } }, 'Up'), undefined)
  })
})
