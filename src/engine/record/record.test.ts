// When what was applied still holds, although the last run did not end well.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RunFault } from '../faults/faults.ts'
import { type ClosedPhase, closeRun, isAsApplied, newRecord, parseRecord, type Run, type RunRecord } from './record.ts'

const AT = '2026-01-01T00:00:00Z'
const holder = { pid: 1, start: '1', host: 'here', machine: '', boot: '', space: '' }
const faultOf = (kind: RunFault['kind']): RunFault => ({ kind, code: 'CAPT_X', message: 'm', hint: 'h' })

interface Ended {
  readonly phase: ClosedPhase
  readonly fault?: RunFault['kind']
  readonly untouched?: boolean
  readonly hash?: string
  readonly resumed?: number
  readonly verb?: Run['verb']
}
const SUCCESS: Ended = { phase: 'Succeeded' }
const CANCELLED: Ended = { phase: 'Cancelled', fault: 'cancelled', untouched: true }

/** Runs one after the other, as an engine opens and closes them. */
function recordOf(...ended: readonly Ended[]): RunRecord {
  let record = newRecord('id')
  for (const [i, one] of ended.entries()) {
    const { phase, fault, untouched = false, hash = 'now', resumed = 0, verb = 'apply' } = one
    const id = `run-${i}`
    const open = { attempt: 1, phase: 'Apply', startedAt: AT, holder, folder: '', timeoutSeconds: 60 } as const
    const run: Run = { ...open, id, verb, hash, resumed }
    const closed = closeRun({ ...record, run }, phase, AT, fault && faultOf(fault), untouched)
    const applied = { hash, at: AT, runId: id, outputs: {}, omitted: [] }
    record = phase === 'Succeeded' && verb === 'apply' ? { ...closed, applied } : closed
  }
  return record
}

describe('what was applied', () => {
  for (const [expected, name, ...runs] of [
    [true, 'holds after a success', SUCCESS],
    [true, 'holds after a run that was cancelled before it changed anything', SUCCESS, CANCELLED],
    [true, 'holds after several of them', SUCCESS, CANCELLED, CANCELLED],
    [false, 'is in doubt after a run that was cancelled at work', SUCCESS, { ...CANCELLED, untouched: false }],
    [
      false,
      'is in doubt when that run was resumed: its first runner was at work',
      SUCCESS,
      { ...CANCELLED, resumed: 1 },
    ],
    [false, 'is in doubt when a run in between failed', SUCCESS, { phase: 'Failed', fault: 'network' }, CANCELLED],
    [false, 'does not hold for other inputs', { ...SUCCESS, hash: 'old' }, CANCELLED],
    [
      false,
      'is not answered by a run that failed before it changed anything',
      SUCCESS,
      { ...CANCELLED, phase: 'Failed', fault: 'network' },
    ],
    [false, 'is not answered by a pause: that run begins again', SUCCESS, { ...CANCELLED, fault: 'paused' }],
    [false, 'is nothing when nothing was applied', CANCELLED],
    [false, 'is nothing after a destroy', SUCCESS, { ...SUCCESS, verb: 'destroy' }],
  ] as readonly (readonly [boolean, string, ...Ended[]])[]) {
    it(name, () => assert.equal(isAsApplied(recordOf(...runs), 'now'), expected))
  }
})

describe('a record', () => {
  it('holds outputs with integers of 64 bits', () => {
    const text = JSON.stringify({ ...newRecord('w'), applied: { hash: 'h', at: AT, outputs: { big: 2n ** 63n - 1n } } })
    assert.equal(parseRecord(text)?.applied?.outputs['big'], 9223372036854775807n)
  })
})
