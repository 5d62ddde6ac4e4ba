// A run that is taken up, as far as it comes without Terraform.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { type Lease, LeaseKind } from '#api'
import { silentLog, systemClock } from '#lib'
import { memoryCluster } from '#testing'
import { leaseName, suffixOf } from '../names.ts'
import { ownIdentity } from '../processes.ts'
import type { Run } from '../record/record.ts'
import { freshRecord, readRecord, writeRecord } from '../record/record-store.ts'
import { writeFact } from './folder.ts'
import { runOnce } from './run.ts'

const path = mkdtempSync(join(tmpdir(), 'capt-take-up-'))
after(() => rmSync(path, { recursive: true, force: true }))
const owner = { namespace: 'default', name: 'demo', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }

describe('a run that is taken up', () => {
  it('names what was in flight even when it comes no further than a lock that somebody else holds', async () => {
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
      inFlight: { addresses: [{ address: 'aws_vpc.this', action: 'create' }], more: 0 },
    } satisfies Run
    await writeRecord(objects, owner, undefined, { ...freshRecord(), run })
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
    assert.equal(record.run?.inFlight, undefined)
  })
})
