import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { silentLog } from '#lib'
import { manualClock, memoryCluster } from '#testing'
import { newRecord } from '../../record/record.ts'
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
    ...{ objects, owner, folder, clock: manualClock(), log: silentLog, runId: 'run', verb: 'apply' as const },
    record: () => newRecord('w'),
    announce: async () => {},
    onFenced: () => {},
    note: () => {},
  }
  const state = await WorkspaceState.open(world, { isTakeOver: false })
  const settle = () => state.settle(folder.work, true).finally(() => state.stop())
  return { settle, inFolder: () => readFileSync(file, 'utf8'), inSecret: () => loadState(objects, owner) }
}

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
