import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memoryCluster } from '#testing'
import { newRecord } from '../record/record.ts'
import { writeRecord } from '../record/record-store.ts'
import { lastTool } from './last-tool.ts'

it('a run works on the state of its record, a speculative one and a drift check on that of their target', async () => {
  const { objects } = memoryCluster()
  const owner = { namespace: 'a', name: 'vpc', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
  const bundle = { id: 'b', parts: 1, bytes: 1, hash: 'h', tool: 'tofu 1.10.6' }
  const record = { ...newRecord('w'), bundle }
  assert.ok(await writeRecord(objects, owner, undefined, record))
  assert.equal(await lastTool(objects, { owner }, record), 'tofu 1.10.6')
  assert.equal(await lastTool(objects, { owner }, newRecord('w')), undefined)
  const other = { ...owner, name: 'vpc-plan' }
  assert.equal(await lastTool(objects, { owner: other, speculativeFor: 'vpc' }, newRecord('p')), 'tofu 1.10.6')
  assert.equal(await lastTool(objects, { owner: other, speculativeFor: 'absent' }, newRecord('p')), undefined)
})
