// What a run in a Job may write, and how: slots, the size of its state, creation by server-side apply, credentials by mount.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Secret, SecretKind } from '#api'
import { manualClock, memoryCluster } from '#testing'
import { acquireLock } from '../lock/lock.ts'
import { ownIdentity } from '../lock/processes.ts'
import { SLOTS, STATE_PARTS, slotName, stateName, suffixOf } from '../names.ts'
import { toRunFault } from '../runner/failure.ts'
import { runnerObjects } from './runner-objects.ts'

const owner = { namespace: 'team-a', name: 'demo', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const suffix = suffixOf(owner)
const secret = (name: string, text = 'x'): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'team-a', name },
  data: { text: Buffer.from(text).toString('base64') },
})
const keys = { namespace: 'shared', name: 'keys' }

function open() {
  const cluster = memoryCluster()
  const credentials = [{ ref: keys, secret: secret('keys') }]
  const runOf = (runId: string) => runnerObjects(cluster.objects, { owner, runId, credentials })
  const lockFor = (runId: string) => {
    const request = { owner, runId, verb: 'apply', holder: ownIdentity(), toolVersion: '1.11.4' } as const
    return acquireLock(cluster.objects, manualClock(), request)
  }
  return { ...cluster, run: runOf('run-1'), lockFor }
}

describe('a run in a Job', () => {
  it('saves a state in as many parts as its role names, and refuses one more with the size, for a person to act', async () => {
    const { run, writes } = open()
    await run.create(SecretKind, secret(stateName(suffix, STATE_PARTS - 1)))
    const before = writes.length
    for (const part of [STATE_PARTS, STATE_PARTS + 1]) {
      const error = await run.create(SecretKind, secret(stateName(suffix, part))).catch((thrown: unknown) => thrown)
      assert.partialDeepStrictEqual(toRunFault(error), {
        kind: 'user',
        code: 'CAPT_STATE_TOO_LARGE',
        message: 'the state takes more than 14.1 MiB packed',
      })
    }
    assert.equal(writes.length, before, 'nothing is written')
  })

  it('creates by server-side apply, and notices who was first', async () => {
    const { run, requests } = open()
    await run.create(SecretKind, secret(stateName(suffix)))
    assert.deepEqual(
      requests.map(({ verb }) => verb),
      ['get', 'apply'],
    )
    await assert.rejects(run.create(SecretKind, secret(stateName(suffix), 'y')), /exists/)
  })

  it('writes over a slot that an interrupted run left, if it holds the lock', async () => {
    const { run, lockFor, peek } = open()
    const slot = secret(slotName(suffix, 3), 'old')
    await run.create(SecretKind, slot)
    await assert.rejects(run.create(SecretKind, secret(slotName(suffix, 3), 'new')), { code: 'CAPT_STATE_FENCED' })
    await lockFor('run-1')
    await run.create(SecretKind, secret(slotName(suffix, 3), 'new'))
    const found = peek<Secret>(SecretKind, { namespace: 'team-a', name: slotName(suffix, 3) })
    assert.equal(found?.data?.['text'], Buffer.from('new').toString('base64'))
  })

  it('that lost its lock writes over the slots beside the state alone', async () => {
    const { run, lockFor } = open()
    await lockFor('run-2')
    const aside = slotName(suffix, SLOTS.held)
    await run.create(SecretKind, secret(aside, 'old'))
    await run.create(SecretKind, secret(aside, 'new'))
  })

  it('reads credentials from its pod and not from the API', async () => {
    const { run, requests } = open()
    assert.equal((await run.get<Secret>(SecretKind, keys))?.metadata.name, 'keys')
    assert.deepEqual(requests, [])
  })
})
