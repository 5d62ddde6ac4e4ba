// What a person reads about the record, lock and state of a workspace, read from the objects as they lie there.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SecretKind, WorkspaceTemplateApply } from '#api'
import { systemClock } from '#lib'
import { memoryCluster } from '#testing'
import { acquireLock } from '../lock/lock.ts'
import { ownIdentity } from '../lock/processes.ts'
import { recordName, stateName, suffixOf } from '../names.ts'
import { newRecord } from '../record/record.ts'
import { writeRecord } from '../record/record-store.ts'
import { readIdentities } from '../state/state-identities.ts'
import { saveState } from '../state/state-store.ts'
import { examineWorkspace } from './examine.ts'

const key = { namespace: 'default', name: 'demo' }
const { apiVersion, kind } = WorkspaceTemplateApply
const owner = { ...key, uid: 'u', apiVersion, kind }
const resource = (over: object) => ({
  mode: 'managed',
  type: 'aws_vpc',
  name: 'this',
  provider: 'module.net.provider["registry.terraform.io/hashicorp/aws"].second',
  instances: [{ attributes: { id: 'vpc-1', arn: 'arn:aws-cn:ec2:cn-north-1:1:vpc/vpc-1', password: 'hidden' } }],
  ...over,
})
const stateOf = (...resources: object[]) =>
  JSON.stringify({ version: 4, serial: 3, lineage: 'line', outputs: {}, resources })

describe('an examination of a workspace', () => {
  it('finds nothing where nothing was ever run', async () => {
    const { objects } = memoryCluster()
    assert.deepEqual(await examineWorkspace(objects, key), {
      record: undefined,
      lock: { is: 'free' },
      state: { is: 'none' },
      holds: { is: 'empty', notes: [] },
      runner: undefined,
    })
  })

  it('reports that the holder of the lock and the run that is on are alive', async () => {
    const { objects } = memoryCluster()
    const holder = ownIdentity()
    const run = {
      id: 'r-1',
      verb: 'apply',
      hash: 'h',
      attempt: 1,
      phase: 'Apply',
      startedAt: '2026-01-01T00:00:00Z',
      holder,
      resumed: 0,
      folder: 'f',
      timeoutSeconds: 60,
    } as const
    await writeRecord(objects, owner, undefined, { ...newRecord('w-1'), run })
    const request = { owner, runId: 'r-1', verb: 'apply', toolVersion: '1.11.4' }
    await acquireLock(objects, systemClock, { ...request, holder })
    const alive = await examineWorkspace(objects, key)
    assert.partialDeepStrictEqual(alive.lock, { is: 'ours', runId: 'r-1', liveness: 'alive', holder })
    assert.equal(alive.runner, 'alive')
  })

  it('reports that a process of an earlier boot is gone, and that of another machine nobody knows', async () => {
    for (const [holder, liveness] of [
      [{ ...ownIdentity(), boot: 'earlier' }, 'dead'],
      [{ ...ownIdentity(), host: 'elsewhere' }, 'unknown'],
    ] as const) {
      const { objects } = memoryCluster()
      await acquireLock(objects, systemClock, { owner, runId: 'r-1', verb: 'apply', toolVersion: '', holder })
      assert.partialDeepStrictEqual((await examineWorkspace(objects, key)).lock, { is: 'ours', liveness })
    }
  })

  it('says what is damaged instead of failing', async () => {
    const { objects, seed } = memoryCluster()
    const broken = (name: string, field: string) =>
      seed(SecretKind, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace: 'default', name },
        data: { [field]: Buffer.from('{').toString('base64') },
      } as never)
    broken(recordName(suffixOf(key)), 'record')
    broken(stateName(suffixOf(key)), 'tfstate')
    const { record, state } = await examineWorkspace(objects, key)
    assert.partialDeepStrictEqual(record, { is: 'unreadable' })
    assert.partialDeepStrictEqual(state, { is: 'unreadable' })
  })

  it('reads the state as it was saved', async () => {
    const { objects } = memoryCluster()
    await saveState(objects, owner, stateOf(resource({})), 0)
    const { state } = await examineWorkspace(objects, key)
    assert.partialDeepStrictEqual(state, { is: 'whole', serial: 3, lineage: 'line', addresses: ['aws_vpc.this'] })
  })
})

describe('the names by which a cloud knows what is in a state', () => {
  it('are ids and ARNs of managed resources, their regions and providers, and nothing else', () => {
    const found = resource({ mode: 'data', instances: [{ attributes: { id: 'subnet-1' } }] })
    const { ids, regions, providers } = readIdentities(stateOf(resource({}), found))
    assert.deepEqual([...ids], ['vpc-1', 'arn:aws-cn:ec2:cn-north-1:1:vpc/vpc-1'])
    assert.deepEqual(regions, ['cn-north-1'])
    assert.deepEqual(providers, ['registry.terraform.io/hashicorp/aws'])
  })

  it('are none for a resource without attributes', () => {
    const bare = resource({ provider: 'provider["terraform.io/builtin/terraform"]', instances: [{}, null] })
    const { ids, providers } = readIdentities(stateOf(bare))
    assert.deepEqual([[...ids], providers], [[], ['terraform.io/builtin/terraform']])
  })
})
