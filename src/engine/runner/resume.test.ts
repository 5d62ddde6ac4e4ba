// A run that is resumed, as far as it comes without Terraform.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { type Lease, LeaseKind } from '#api'
import { silentLog, systemClock } from '#lib'
import { memoryCluster } from '#testing'
import { ownIdentity } from '../lock/processes.ts'
import { leaseName, suffixOf } from '../names.ts'
import { newRecord, type Run } from '../record/record.ts'
import { readRecord, writeRecord } from '../record/record-store.ts'
import { writeFact } from './inputs/folder.ts'
import { runOnce } from './run.ts'

const path = mkdtempSync(join(tmpdir(), 'capt-resume-'))
after(() => rmSync(path, { recursive: true, force: true }))
const owner = { namespace: 'default', name: 'demo', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }

describe('a run that is resumed', () => {
  it('names what had begun even when it comes no further than a lock that somebody else holds', async () => {
    const { objects } = memoryCluster()
    const run = {
      id: 'r1',
      verb: 'apply',
      hash: 'h',
      attempt: 1,
      phase: 'Apply',
      startedAt: '2026-01-01T00:00:00Z',
      holder: { ...ownIdentity(), boot: 'earlier' },
      resumed: 1,
      folder: path,
      timeoutSeconds: 60,
    } satisfies Run
    const begun = { address: 'aws_vpc.this', action: 'create' }
    const planned = { address: 'aws_subnet.a', action: 'create', unconfirmed: true } as const
    const inFlight = { run: 'r1', mark: 'm', boot: 'b', addresses: [begun, planned], more: 0 }
    await writeRecord(objects, owner, undefined, { ...newRecord('w'), run, inFlight })
    const metadata = { namespace: 'default', name: leaseName(suffixOf(owner)) }
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata,
      spec: { holderIdentity: 'a person' },
    }
    await objects.create<Lease>(LeaseKind, lease)
    const tool = { name: 'terraform', binary: '/nowhere/terraform', version: '1.11.4' } as const
    const asked = {
      runId: 'r1',
      verb: 'apply',
      owner,
      tool,
      timeoutSeconds: 60,
      graceSeconds: 5,
      shared: path,
    } as const
    writeFact({ path }, 'request', asked)
    const world = { objects, clock: systemClock, log: silentLog, env: {}, stop: new AbortController().signal }
    assert.equal(await runOnce(path, world), 'done')
    const { record } = (await readRecord(objects, owner))!
    assert.equal(record.run?.fault?.code, 'CAPT_STATE_LOCKED')
    assert.deepEqual(record.suspects, [{ address: 'aws_vpc.this', action: 'create', run: 'r1' }])
    assert.deepEqual(record.inFlight, inFlight, 'the next run compares the rest with the state')
  })
})
