// A restored state replaces one that is damaged, and never one that was not read.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Secret, SecretKind } from '#api'
import { KubeError, type Objects } from '#kube'
import { systemClock } from '#lib'
import { memoryCluster } from '#testing'
import { stateName, suffixOf } from '../names.ts'
import { newRecord } from '../record/record.ts'
import { writeRecord } from '../record/record-store.ts'
import { loadState, saveState } from '../state/state-store.ts'
import { restoreState } from './restore.ts'

const owner = { namespace: 'default', name: 'demo-vpc', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const key = { namespace: 'default', name: stateName(suffixOf(owner)) }
const textOf = (serial: number) => JSON.stringify({ version: 4, serial, lineage: 'l', outputs: {}, resources: [] })

async function withState() {
  const { objects } = memoryCluster()
  await writeRecord(objects, owner, undefined, newRecord('w'))
  await saveState(objects, owner, textOf(7), 0)
  return objects
}

/** The first read of the state gets no answer. */
function losingOneAnswer(objects: Objects): Objects {
  let isLost = false
  const get: Objects['get'] = async (kind, at) => {
    if (at.name === key.name && !isLost) {
      isLost = true
      throw new KubeError('Unreachable', 'no answer')
    }
    return await objects.get(kind, at)
  }
  return { ...objects, get }
}

describe('capt state restore', () => {
  it('leaves everything as it was when the present state was not answered', async () => {
    const objects = await withState()
    await assert.rejects(restoreState(losingOneAnswer(objects), systemClock, owner, textOf(3)), {
      reason: 'Unreachable',
    })
    assert.equal(await loadState(objects, owner), textOf(7))
  })

  it('replaces a damaged state', async () => {
    const objects = await withState()
    const secret = (await objects.get<Secret>(SecretKind, key))!
    await objects.replace(SecretKind, { ...secret, data: { tfstate: 'AAAA' } })
    const { serial } = await restoreState(objects, systemClock, owner, textOf(3))
    assert.equal(JSON.parse((await loadState(objects, owner))!).serial, serial)
  })
})
