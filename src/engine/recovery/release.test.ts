// A person who gives resources up sees all that is recorded, or an error; never less because something was not answered.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SecretKind } from '#api'
import { systemClock } from '#lib'
import { memoryCluster } from '#testing'
import { newRecord } from '../record/record.ts'
import { readRecord, writeRecord } from '../record/record-store.ts'
import { listRecorded, orphanResources } from './release.ts'

const owner = { namespace: 'default', name: 'demo-vpc', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }

async function withSuspect() {
  const cluster = memoryCluster()
  const record = { ...newRecord('w'), suspects: [{ run: 'r', address: 'aws_vpc.this', action: 'create' }] }
  await writeRecord(cluster.objects, owner, undefined, record)
  return { ...cluster, unanswered: () => cluster.failNext('get', SecretKind, 'Unreachable', { times: 1 }) }
}

describe('what a person gives up', () => {
  it('is listed from the record', async () => {
    const { objects } = await withSuspect()
    assert.deepEqual(await listRecorded(objects, owner), { addresses: ['aws_vpc.this'], unnamed: 0 })
  })

  it('is not listed as nothing when the record was not answered', async () => {
    const { objects, unanswered } = await withSuspect()
    unanswered()
    await assert.rejects(listRecorded(objects, owner), { reason: 'Unreachable' })
  })

  it('stays recorded when the record was not answered: a run might be at work', async () => {
    const { objects, unanswered } = await withSuspect()
    unanswered()
    const isApplyThere = false
    await assert.rejects(orphanResources(objects, systemClock, owner, { isApplyThere, resources: 1 }), {
      reason: 'Unreachable',
    })
    assert.equal((await readRecord(objects, owner))?.record.suspects?.length, 1)
  })
})
