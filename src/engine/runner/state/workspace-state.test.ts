import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { type CaptError, isCaptError, silentLog } from '#lib'
import { manualClock, memoryCluster } from '#testing'
import { newRecord } from '../../record/record.ts'
import type { RecordChange } from '../../record/record-store.ts'
import { RunSlots, takeAside } from '../../record/slots.ts'
import { loadCopy } from '../../state/state-copies.ts'
import { loadState, saveState } from '../../state/state-store.ts'
import { folderOf } from '../inputs/folder.ts'
import { WorkspaceState } from './workspace-state.ts'

const root = mkdtempSync(join(tmpdir(), 'capt-workspace-state-'))
after(() => rmSync(root, { recursive: true, force: true }))
const owner = { namespace: 'default', name: 'demo', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const text = (serial: number, lineage = 'l') =>
  JSON.stringify({ version: 4, serial, lineage, resources: [], outputs: {} })

/** A folder as an earlier run left it, and what was saved since. */
async function open(left: string, saved: string) {
  const { objects } = memoryCluster()
  const folder = folderOf(mkdtempSync(join(root, 'run-')))
  mkdirSync(folder.work, { recursive: true })
  const file = join(folder.work, 'terraform.tfstate')
  writeFileSync(file, left)
  await saveState(objects, owner, saved, 0)
  const world = {
    ...{ objects, owner, folder, clock: manualClock(), log: silentLog, runId: 'run' },
    record: () => newRecord('w'),
    announce: async () => {},
    onFenced: () => {},
    onTooLarge: () => {},
    note: () => {},
  }
  const state = await WorkspaceState.open(world, { isTakeOver: false })
  const settle = () => state.settle(folder.work).finally(() => state.stop())
  return { settle, inFolder: () => readFileSync(file, 'utf8'), inSecret: () => loadState(objects, owner) }
}

/** What a run in a Job leaves whose Terraform wrote these states, and what the last one was refused with. */
async function saveInJob(...written: readonly string[]) {
  const { objects } = memoryCluster()
  const folder = folderOf(mkdtempSync(join(root, 'run-')))
  mkdirSync(folder.work, { recursive: true })
  let record = newRecord('w')
  const slots = new RunSlots(() => record)
  const stops: string[] = []
  const world = {
    ...{ objects, owner, folder, clock: manualClock(), log: silentLog, runId: 'run' },
    record: () => record,
    announce: async (change: RecordChange) => {
      record = change(record)
    },
    onFenced: () => assert.fail('nobody else is at work'),
    onTooLarge: (error: CaptError) => stops.push(error.code),
    note: () => {},
    slots: {
      take: (parts: number) => slots.take(parts),
      release: (freed: readonly number[]) => slots.release(freed),
      takeAside,
    },
  }
  const state = await WorkspaceState.open(world, { isTakeOver: false })
  await state.settle(folder.work)
  const file = join(folder.work, 'terraform.tfstate')
  writeFileSync(file, text(1))
  await state.flush(true)
  let error: unknown
  for (const one of written) {
    writeFileSync(file, one)
    error = await state.flush(true).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
  }
  state.stop()
  record = (await state.tidyCopies())(record)
  const [copy] = record.pending ?? []
  const saved = await loadState(objects, owner)
  const { slots: _inJob, ...elsewhere } = { ...world, folder: folderOf(mkdtempSync(join(root, 'run-'))) }
  /** What the engine local works from then. */
  const settledElsewhere = async () => {
    mkdirSync(elsewhere.folder.work, { recursive: true })
    const next = await WorkspaceState.open(elsewhere, { isTakeOver: false })
    await next.settle(elsewhere.folder.work).finally(() => next.stop())
    return await loadState(objects, owner)
  }
  return { error, stops, saved, copy: copy && (await loadCopy(objects, owner, copy)), settledElsewhere }
}

describe('the state of a run in a Job', () => {
  const withOutput = (value: string, serial = 2) =>
    JSON.stringify({ version: 4, serial, lineage: 'l', resources: [], outputs: { value: { value } } })

  it('of several parts is saved, and its copy is gone', async () => {
    const written = withOutput(randomBytes(2_000_000).toString('base64'))
    const { error, stops, saved, copy } = await saveInJob(written)
    assert.deepEqual([error, stops, saved === written, copy], [undefined, [], true, undefined])
  })

  it('that does not fit is an error with its size; the last one that fits stays, and a whole copy is beside it', async () => {
    const noise = randomBytes(15_000_000).toString('base64')
    // More of them than there are slots for copies of all.
    const written = [2, 3, 4, 5].map((serial) => withOutput(noise, serial))
    const { error, stops, saved, copy, settledElsewhere } = await saveInJob(...written)
    assert.ok(isCaptError(error, 'CAPT_STATE_TOO_LARGE'), String(error))
    assert.match(error.message, /^the state takes 14\.\d MiB packed; a run in a Job saves 14\.1 MiB$/)
    assert.equal(saved, text(1))
    assert.deepEqual(stops, ['CAPT_STATE_TOO_LARGE'], 'Terraform is asked to stop at the first of them')
    assert.ok(copy === written.at(-1), 'nothing of the last one is lost')
    assert.ok((await settledElsewhere()) === written.at(-1), 'the engine local goes on from it')
  })
})

describe('the state of a workspace that comes back to a folder', () => {
  it('is the saved one when it has moved on elsewhere; the folder never overwrites it', async () => {
    const { settle, inFolder, inSecret } = await open(text(3), text(5))
    await settle()
    assert.deepEqual([inFolder(), await inSecret()], [text(5), text(5)])
  })

  it('is that of the folder when it was not saved before its runner died', async () => {
    const { settle, inFolder, inSecret } = await open(text(6), text(5))
    await settle()
    assert.deepEqual([inFolder(), await inSecret()], [text(6), text(6)])
  })
})
