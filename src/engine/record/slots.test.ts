// Which slots a run may write to, as a table.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SLOTS } from '../names.ts'
import { newRecord, type RunRecord } from './record.ts'
import { RunSlots, takeAside, usedSlots } from './slots.ts'

const backup = (serial: number, ...slots: number[]) => ({ serial, parts: 1, savedAt: '', resources: 0, slots })
const bundle = (...slots: number[]) => ({ id: 'x', parts: slots.length, bytes: 1, hash: '', tool: '', slots })
const recordWith = (change: Partial<RunRecord>): RunRecord => ({ ...newRecord('w'), ...change })

describe('slots of a workspace', () => {
  it('count as used by every reference of the record', () => {
    const record = recordWith({
      bundle: bundle(0),
      spare: [bundle(1, 2)],
      backups: [backup(1, 3), { serial: 2, parts: 1, savedAt: '', resources: 0 }],
      pending: [{ ...backup(3, 4), run: 'r' }],
      side: [{ ...backup(4, SLOTS.held), run: 'r' }],
    })
    assert.deepEqual([...usedSlots(record)], [0, 1, 2, 3, 4, SLOTS.held])
  })

  it('are chosen from the lowest that neither the record nor this run uses', () => {
    const slots = new RunSlots(() => recordWith({ bundle: bundle(0, 2) }))
    assert.deepEqual([slots.take(2), slots.take(1)], [{ slots: [1, 3] }, { slots: [4] }])
  })

  it('of a run that lost its lock are others than those of the holder', () => {
    assert.deepEqual(takeAside(recordWith({}), 2), { slots: [SLOTS.held, SLOTS.held + 1] })
  })

  it('that do not suffice are an error with the size', () => {
    const slots = new RunSlots(() => newRecord('w'))
    assert.throws(() => slots.take(SLOTS.held + 1), { code: 'CAPT_SLOTS_FULL', message: /^57 Secrets .* 56 of 56/ })
  })
})
