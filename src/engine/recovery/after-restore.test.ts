// What is live in a backup is not live after a restore.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, JobKind, type Lease, LeaseKind, WorkspaceTemplateApply } from '#api'
import { anApply, memoryCluster } from '#testing'
import { HOLDER_ANNOTATION } from '../lock/lease.ts'
import { checksKey, WORKSPACE_LABEL } from '../names.ts'
import { newRecord, type Run, type RunRecord } from '../record/record.ts'
import { readRecord, writeRecord } from '../record/record-store.ts'
import { settleAfterRestore, settledRecord, settleManagementCluster } from './after-restore.ts'

const AT = '2026-01-01T00:00:00Z'
const ELSEWHERE = { pid: 7, start: '1', host: 'elsewhere', machine: 'other', boot: 'b', space: 's' }
const aRun = (over: Partial<Run> = {}): Run => ({
  id: 'run-1',
  verb: 'apply',
  hash: 'inputs',
  attempt: 1,
  phase: 'Apply',
  startedAt: '2025-12-31T00:00:00Z',
  holder: ELSEWHERE,
  resumed: 0,
  folder: '/nowhere',
  timeoutSeconds: 60,
  ...over,
})
const inFlight = { run: 'run-1', addresses: [{ address: 'a.b', action: 'create', begun: true }], more: 0 }
const proposed = { hash: 'x' } as unknown as NonNullable<RunRecord['proposed']>
const applied = { hash: 'inputs', at: AT, runId: 'run-0', outputs: {}, omitted: [] }

describe('A record of a backup', () => {
  for (const phase of ['Queued', 'Starting', 'Init', 'Plan', 'Apply', 'Save'] as const)
    it(`has no run in progress after a restore: ${phase} becomes Lost`, () => {
      const { run, history } = settledRecord({ ...newRecord('w'), run: aRun({ phase }), proposed }, AT)
      assert.partialDeepStrictEqual(run, { phase: 'Lost', finishedAt: AT, fault: { code: 'CAPT_RUN_LOST' } })
      assert.equal(history[0]?.phase, 'Lost')
    })

  it('names what the run was making as suspects', () => {
    const record = {
      ...newRecord('w'),
      run: aRun(),
      inFlight: inFlight as unknown as NonNullable<RunRecord['inFlight']>,
    }
    assert.deepEqual(
      settledRecord(record, AT).suspects.map(({ address }) => address),
      ['a.b'],
    )
  })

  it('loses the plan that waited, and keeps everything else', () => {
    const record: RunRecord = { ...newRecord('w'), run: aRun({ phase: 'Planned' }), proposed, applied }
    const { proposed: _gone, ...rest } = record
    assert.deepEqual(settledRecord(record, AT), rest)
  })
})

describe('settleAfterRestore', () => {
  it('closes the runs of applies and of drift checks, removes every Lease, and can be repeated', async () => {
    const { objects } = memoryCluster()
    const apply = await objects.create(WorkspaceTemplateApply, anApply({}, {}) as WorkspaceTemplateApply)
    const key = { namespace: apply.metadata.namespace ?? '', name: apply.metadata.name }
    for (const one of [key, checksKey(key)]) {
      const owner = { ...one, uid: 'u', apiVersion: apply.apiVersion, kind: apply.kind }
      await writeRecord(objects, owner, undefined, { ...newRecord('w'), run: aRun() })
    }
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', spec: { holderIdentity: 'somebody' } }
    for (const [name, finalizers] of [
      ['held', ['infrastructure.cluster.x-k8s.io/workspace-in-use']],
      ['free', []],
    ] as const)
      await objects.create<Lease>(LeaseKind, { ...lease, metadata: { ...key, name, finalizers } } as unknown as Lease)
    for (let times = 0; times < 2; times++) {
      await settleAfterRestore(objects, Date.parse(AT))
      for (const one of [key, checksKey(key)]) assert.equal((await readRecord(objects, one))?.record.run?.phase, 'Lost')
      for await (const { metadata } of objects.list<Lease>(LeaseKind)) assert.fail(metadata.name)
    }
  })
})

describe('settleManagementCluster', () => {
  it('closes runs and removes their locks and Jobs, and leaves what is not capt’s', async () => {
    const { objects } = memoryCluster()
    const apply = await objects.create(WorkspaceTemplateApply, anApply({}, {}) as WorkspaceTemplateApply)
    const key = { namespace: apply.metadata.namespace ?? '', name: apply.metadata.name }
    const owner = { ...key, uid: 'u', apiVersion: apply.apiVersion, kind: apply.kind }
    await writeRecord(objects, owner, undefined, { ...newRecord('w'), run: aRun() })
    const labels = { [WORKSPACE_LABEL]: 'w' }
    const holder = JSON.stringify({ ...ELSEWHERE, lock: 'ours' })
    for (const [name, metadata, holderIdentity] of [
      ['held', { labels, annotations: { [HOLDER_ANNOTATION]: holder }, finalizers: ['x.example/keep'] }, 'ours'],
      ['free', { labels }, undefined],
      ['by-hand', { labels, annotations: { [HOLDER_ANNOTATION]: holder } }, 'of-a-person'],
      ['node', {}, 'kubelet'],
    ] as const) {
      const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', spec: { holderIdentity } }
      await objects.create<Lease>(LeaseKind, { ...lease, metadata: { ...key, name, ...metadata } } as unknown as Lease)
    }
    for (const [name, given] of [
      ['run', labels],
      ['other', {}],
    ] as const)
      await objects.create<AnyObject>(JobKind, {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { ...key, name, labels: given },
      } as AnyObject)

    const closed = [`${key.namespace}/${key.name}`]
    assert.deepEqual(await settleManagementCluster(objects, Date.parse(AT)), { closed, locks: 2, jobs: 1 })
    assert.equal((await readRecord(objects, key))?.record.run?.phase, 'Lost')
    const names = async (kind: typeof JobKind) => {
      const found: string[] = []
      for await (const { metadata } of objects.list<AnyObject>(kind)) found.push(metadata.name)
      return found.sort()
    }
    assert.deepEqual([await names(LeaseKind), await names(JobKind)], [['by-hand', 'node'], ['other']])
    assert.deepEqual(await settleManagementCluster(objects, Date.parse(AT)), { closed: [], locks: 0, jobs: 0 })
  })
})
