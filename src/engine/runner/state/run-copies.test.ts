// A state that a run may not save goes into a copy, and some record names that copy before it is written.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { SecretKind } from '#api'
import { CaptError, silentLog } from '#lib'
import { manualClock, memoryCluster } from '#testing'
import { SLOTS } from '../../names.ts'
import { newRecord, type RunRecord } from '../../record/record.ts'
import { type RecordChange, readRecord, writeRecord } from '../../record/record-store.ts'
import { RunSlots, takeAside } from '../../record/slots.ts'
import { loadCopy } from '../../state/state-copies.ts'
import { RunCopies } from './run-copies.ts'

const owner = { namespace: 'default', name: 'demo', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const STATE = JSON.stringify({ version: 4, serial: 7, lineage: 'l', resources: [], outputs: {} })

async function saveAside(kept: RunRecord | undefined, isOurs: boolean) {
  const { objects } = memoryCluster()
  let ours = newRecord('ours')
  if (kept) await writeRecord(objects, owner, undefined, kept)
  const announce = async (change: RecordChange) => {
    if (!isOurs) throw new CaptError('CAPT_RECORD_TAKEN', 'taken', { hint: '' })
    ours = change(ours)
  }
  const world = {
    objects,
    owner,
    clock: manualClock(),
    log: silentLog,
    runId: 'run-1',
    record: () => ours,
    announce,
  }
  await new RunCopies({ ...world, note: () => {} }).saveAside(STATE)
  return { ours, stored: (await readRecord(objects, owner))?.record, load: () => loadCopy(objects, owner, ref) }
}

const ref = { serial: 7, lineage: 'l', savedAt: '', resources: 0, parts: 1, run: 'run-1' }

describe('a copy beside the state is named by', () => {
  it('the record of the run, as long as that is its own', async () => {
    const { ours, stored, load } = await saveAside(undefined, true)
    assert.deepEqual([ours.side?.map(({ run }) => run), stored], [['run-1'], undefined])
    assert.equal(await load(), STATE)
  })

  it('the record of the run that took over', async () => {
    const { stored, load } = await saveAside(newRecord('theirs'), false)
    assert.deepEqual([stored?.workspaceId, stored?.side?.map(({ run }) => run)], ['theirs', ['run-1']])
    assert.equal(await load(), STATE)
  })

  it('the record of the run, written again, where there is none', async () => {
    const { stored, load } = await saveAside(undefined, false)
    assert.deepEqual([stored?.workspaceId, stored?.side?.map(({ run }) => run)], ['ours', ['run-1']])
    assert.equal(await load(), STATE)
  })
})

describe('a whole copy while a state of several parts is written', () => {
  it('uses slots that are free again when it is deleted, however often a run saves', async () => {
    const { objects } = memoryCluster()
    let record = newRecord('w')
    const slots = new RunSlots(() => record)
    const copies = new RunCopies({
      ...{ objects, owner, clock: manualClock(), log: silentLog, runId: 'run-1', note: () => {} },
      record: () => record,
      announce: async (change) => {
        record = change(record)
      },
      slots: { take: (parts) => slots.take(parts), release: (freed) => slots.release(freed), takeAside },
    })
    const noise = randomBytes(1_200_000).toString('base64')
    const used = new Set<number>()
    for (let serial = 1; serial <= SLOTS.held; serial++) {
      const copy = await copies.announce(
        JSON.stringify({ version: 4, serial, lineage: 'l', resources: [], outputs: { noise: { value: noise } } }),
      )
      assert.equal(copy?.parts, 2)
      for (const slot of copy?.slots ?? []) used.add(slot)
      await copies.delete(copy!)
    }
    assert.deepEqual([...used].sort(), [0, 1, 2, 3], 'those of the last copy and of the one before')
    assert.deepEqual(copies.withoutDeleted()(record).pending, undefined)
  })
})

describe('a copy of the state before a change', () => {
  const backup = (serial: number) => ({ serial, parts: 1, savedAt: '', resources: 0 })
  function plan(backups: readonly number[]) {
    const { objects, failNext } = memoryCluster()
    const facts = {
      objects,
      owner,
      clock: manualClock(),
      log: silentLog,
      runId: 'run-1',
      record: () => newRecord('w'),
    }
    const copies = new RunCopies({ ...facts, announce: async () => {}, note: () => {} })
    return {
      planned: copies.planBackup(STATE, backups.map(backup)),
      load: () => loadCopy(objects, owner, { serial: 7 }),
      failNext,
    }
  }

  it('is listed before it is written, and takes the place of one that was only announced', async () => {
    const { planned, load } = plan([7, 6, 5, 4, 3, 2])
    assert.deepEqual(
      planned.backups.map(({ serial }) => serial),
      [7, 6, 5, 4, 3],
    )
    assert.equal(await load(), undefined)
    assert.equal(await planned.write(), true)
    assert.equal(await load(), STATE)
  })

  it('is taken off the list again where it cannot be written', async () => {
    const { planned, failNext } = plan([])
    failNext('apply', SecretKind, 'Forbidden', { times: 1 })
    assert.equal(await planned.write(), false)
  })
})
