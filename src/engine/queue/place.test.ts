// The place of a run in the queue, by its request and by its record.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StartRequest } from '../port.ts'
import type { Run } from '../record/record.ts'
import { placeOf, placeOfOpen } from './place.ts'

const request = (over: Partial<StartRequest> = {}): StartRequest => ({
  owner: { namespace: 'a', name: 'x', uid: '', apiVersion: '', kind: '' },
  verb: 'apply',
  hash: 'h',
  timeoutSeconds: 60,
  ...over,
})

describe('A place in the queue', () => {
  it('is that of a drift check for a request that asks for one, also when a manager adopts it', () => {
    const check = { applied: 'r', inputs: 'h', isAsApplied: true }
    assert.deepEqual(
      [placeOf(request({ check }), undefined).isDrift, placeOf(request(), undefined).isDrift],
      [true, false],
    )
    const adopted = (run: Partial<Run>) => placeOfOpen({ namespace: 'a', name: 'x' }, run as Run).isDrift
    assert.deepEqual([adopted({ isCheck: true }), adopted({})], [true, false])
  })
})
