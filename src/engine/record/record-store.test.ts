import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { type Secret, SecretKind } from '#api'
import { memoryCluster } from '#testing'
import { recordName, suffixOf } from '../names.ts'
import { closeRun, newRecord, type Run, type RunRecord } from './record.ts'
import { readLog, readRecord, writeRecord } from './record-store.ts'

const owner = { namespace: 'default', name: 'demo', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const KIB = 1024

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
