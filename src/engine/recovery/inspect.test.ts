// What inspection finds of a workspace without state: a deletion ends only where no run can have made anything.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Objects } from '#kube'
import { systemClock } from '#lib'
import { memoryCluster } from '#testing'
import { acquireLock, releaseDeadLock } from '../lock/lock.ts'
import { ownIdentity } from '../lock/processes.ts'
import { newRecord } from '../record/record.ts'
import { writeRecord } from '../record/record-store.ts'
import { inspectWorkspace } from './inspect.ts'

const owner = { namespace: 'default', name: 'demo', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const dead = { ...ownIdentity(), pid: 2 ** 22 + 1, start: '1' }
const bundle = { id: 'b', hash: 'h', tool: 'terraform 1.0.0', parts: 1, bytes: 1 }

async function lock(objects: Objects, holder = dead) {
  const request = { owner, runId: 'run-1', verb: 'apply', holder, toolVersion: '1.11.4' }
  const answer = await acquireLock(objects, systemClock, request)
  assert.ok(answer.is === 'held')
  return answer.lock
}

describe('a workspace without state', () => {
  const rows: readonly (readonly [string, (objects: Objects) => Promise<unknown>, 'empty' | 'use'])[] = [
    ['is empty where nothing was ever run', async () => undefined, 'empty'],
    ['is not empty while a run without a record holds the lock', (objects) => lock(objects, ownIdentity()), 'use'],
    ['is not empty where such a run died with the lock', (objects) => lock(objects), 'use'],
    [
      'is not empty where the lock of such a run was freed',
      async (objects) => {
        await lock(objects)
        await releaseDeadLock(objects, owner)
      },
      'use',
    ],
    [
      'is empty where such a run ended and released the lock',
      async (objects) => (await lock(objects)).release(),
      'empty',
    ],
    [
      'is empty where the record knows the run that died with the lock, and that it had not begun',
      async (objects) => {
        await lock(objects)
        const run = { id: 'run-1', verb: 'apply', hash: 'h', attempt: 1, phase: 'Lost', startedAt: '' } as const
        const rest = { holder: dead, resumed: 0, folder: '', timeoutSeconds: 1 }
        await writeRecord(objects, owner, undefined, { ...newRecord('w'), run: { ...run, ...rest } })
      },
      'empty',
    ],
    [
      'is not empty where a record with frozen inputs was put back',
      (objects) => writeRecord(objects, owner, undefined, { ...newRecord('w'), bundle }),
      'use',
    ],
  ]
  for (const [name, arrange, expected] of rows)
    it(name, async () => {
      const { objects } = memoryCluster()
      await arrange(objects)
      assert.equal((await inspectWorkspace(objects, owner)).is, expected)
    })

  const counting = (answer: number) => {
    const asked: string[] = []
    const countTagged = async (_: unknown, id: string) => {
      asked.push(id)
      return answer
    }
    return { asked, countTagged }
  }

  it('is lost where things carry the tag that the apply names', async () => {
    const { asked, countTagged } = counting(3)
    const found = await inspectWorkspace(memoryCluster().objects, owner, { workspaceId: 'id-1', countTagged })
    assert.ok(found.is === 'stalled' && found.code === 'CAPT_STATE_LOST', JSON.stringify(found))
    assert.match(found.message, /3 resources are recorded/)
    assert.deepEqual(asked, ['id-1'])
  })

  it('is empty where nothing carries it', async () => {
    const { asked, countTagged } = counting(0)
    const found = await inspectWorkspace(memoryCluster().objects, owner, { workspaceId: 'id-1', countTagged })
    assert.deepEqual([found.is, asked], ['empty', ['id-1']])
  })

  it('asks for no tags where the apply names no workspace, or its status has resources', async () => {
    const { asked, countTagged } = counting(3)
    await inspectWorkspace(memoryCluster().objects, owner, { countTagged })
    await inspectWorkspace(memoryCluster().objects, owner, { workspaceId: 'id-1', status: 2, countTagged })
    assert.deepEqual(asked, [])
  })
})
