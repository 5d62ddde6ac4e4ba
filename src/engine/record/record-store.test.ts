import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { type Secret, SecretKind } from '#api'
import { manualClock, memoryCluster } from '#testing'
import { acquireLock } from '../lock/lock.ts'
import { ownIdentity } from '../lock/processes.ts'
import { recordName, suffixOf } from '../names.ts'
import { closeRun, newRecord, type Run, type RunRecord } from './record.ts'
import { readLog, readRecord, replaceRecord, writeRecord } from './record-store.ts'

const owner = { namespace: 'default', name: 'demo', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const KIB = 1024

describe('A record in the place of a lost one', () => {
  const locked = async () => {
    const { objects } = memoryCluster()
    const request = { owner, runId: 'run-1', verb: 'apply', holder: ownIdentity(), toolVersion: '1.11.4' }
    await acquireLock(objects, manualClock(), request)
    return objects
  }

  it('names the run that has not released the lock', async () => {
    const { lostRun, expected } = await replaceRecord(await locked(), owner, { expected: 2 })
    assert.deepEqual([lostRun, expected], ['run-1', 2])
  })

  it('names none where no run holds the lock, nor for runs that make nothing', async () => {
    assert.equal((await replaceRecord(memoryCluster().objects, owner, {})).lostRun, undefined)
    assert.equal((await replaceRecord(await locked(), owner, { speculativeFor: 'other' })).lostRun, undefined)
  })

  const replaced = async (loss: Parameters<typeof replaceRecord>[2], answer: number | 'unavailable', lock = false) => {
    const asked: string[] = []
    const objects = lock ? await locked() : memoryCluster().objects
    const record = await replaceRecord(objects, owner, loss, async (_, workspaceId) => {
      asked.push(workspaceId)
      return answer
    })
    return { asked, ...record }
  }
  const begun = { workspaceId: 'id-1', isBegun: true }

  it('expects what is tagged for the workspace that the apply names, and has an id of its own', async () => {
    const { asked, expected, workspaceId } = await replaced({ named: begun }, 3)
    assert.deepEqual([asked, expected], [['id-1'], 3])
    assert.notEqual(workspaceId, 'id-1')
  })

  it('expects nothing where nothing is tagged, or nobody can be asked', async () => {
    for (const answer of [0, 'unavailable'] as const)
      assert.equal((await replaced({ named: begun }, answer)).expected, undefined)
  })

  it('asks for no tags where another source has recorded something, nor before the first run', async () => {
    for (const one of [
      await replaced({ named: begun, expected: 2 }, 3),
      await replaced({ named: begun }, 3, true),
      await replaced({ named: { ...begun, isBegun: false } }, 3),
      await replaced({}, 3),
    ])
      assert.deepEqual(one.asked, [])
  })

  it('takes the id that the apply names for the first run', async () => {
    assert.equal((await replaced({ named: { ...begun, isBegun: false } }, 0)).workspaceId, 'id-1')
  })
})

describe('The logs of runs', () => {
  /** Files one log after the other, as runs do. */
  async function fileLogs(texts: readonly string[]) {
    const { objects } = memoryCluster()
    let record: RunRecord = newRecord('w')
    for (const [i, text] of texts.entries()) {
      const run = { id: `run-${i}`, verb: 'apply', attempt: 1, startedAt: '', resumed: 0 } as Run
      record = closeRun({ ...record, run }, 'Succeeded', '')
      const seen = await readRecord(objects, owner)
      assert.ok(await writeRecord(objects, owner, seen, record, { runId: run.id, text }))
    }
    return objects
  }

  it('are kept for the last three', async () => {
    const objects = await fileLogs(['a', 'b', 'c', 'd', 'e'])
    const read = await Promise.all([0, 1, 2, 3, 4].map((i) => readLog(objects, owner, `run-${i}`)))
    assert.deepEqual(read, [undefined, undefined, 'c', 'd', 'e'])
  })

  it('keep the last 256 KiB of each, from the beginning of a line', async () => {
    const long = `${Array.from({ length: 40_000 }, (_, i) => `line ${i}`).join('\n')}\n`
    const log = (await readLog(await fileLogs([long]), owner, 'run-0')) ?? ''
    assert.match(log, /^… the beginning of this log was left out …\nline \d+\n/)
    assert.ok(log.endsWith('line 39999\n'))
    assert.ok(Buffer.byteLength(log) <= 256 * KIB + 100 && Buffer.byteLength(log) > 250 * KIB)
  })

  it('fit into one Secret, whatever a module prints', async () => {
    const noise = () => randomBytes(512 * KIB).toString('base64')
    const objects = await fileLogs([noise(), noise(), noise(), noise()])
    const secret = await objects.get<Secret>(SecretKind, {
      namespace: 'default',
      name: recordName(suffixOf(owner)),
    })
    const bytes = Object.values(secret?.data ?? {}).reduce((sum, text) => sum + (text.length * 3) / 4, 0)
    assert.ok(bytes < 800 * KIB, `${bytes} bytes`)
  })
})
