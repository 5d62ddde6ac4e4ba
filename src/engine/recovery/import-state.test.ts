// A state that another program kept is taken over once, and nothing that is there is overwritten.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Lease, LeaseKind, SecretKind } from '#api'
import { systemClock } from '#lib'
import { memoryCluster } from '#testing'
import { leaseName, stateName, suffixOf } from '../names.ts'
import { isUnproven } from '../record/record.ts'
import { readRecord } from '../record/record-store.ts'
import { loadState, saveState } from '../state/state-store.ts'
import { checkImport, decideImport, importState } from './import-state.ts'

const owner = { namespace: 'default', name: 'demo-vpc', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const mark = { from: 'Secret crossplane-system/tfstate-x', owner: 'CAPTCluster demo' }
const textOf = (serial: number, lineage = 'l', extra = '') =>
  JSON.stringify({
    version: 4,
    serial,
    lineage,
    outputs: {},
    resources: [{ mode: 'managed', type: 'a', name: 'b', instances: [{}] }],
    extra,
  })
const take = (objects: Parameters<typeof importState>[0], text: string) =>
  importState(objects, systemClock, owner, text, mark)

describe('an imported state', () => {
  it('lies where a run looks for it, with a record that waits for the first plan', async () => {
    const { objects } = memoryCluster()
    await take(objects, textOf(7))
    assert.equal(await loadState(objects, owner), textOf(7))
    const { record } = (await readRecord(objects, owner))!
    assert.partialDeepStrictEqual(record, { state: { serial: 7, lineage: 'l', resources: 1 }, imported: mark })
    assert.ok(isUnproven(record))
    const lease = await objects.get<Lease>(LeaseKind, { namespace: 'default', name: leaseName(suffixOf(owner)) })
    assert.equal(lease?.spec?.holderIdentity, undefined, 'the lock is free again')
  })

  it('is the same after a second import, and after one that was cut off', async () => {
    const { objects, failNext } = memoryCluster()
    failNext('apply', SecretKind, 'Unreachable', { times: 1 })
    await assert.rejects(take(objects, textOf(7)))
    assert.equal((await readRecord(objects, owner))?.record.state?.serial, 7, 'the record is there before the state')
    for (let again = 0; again < 2; again++) await take(objects, textOf(7))
    assert.equal(await loadState(objects, owner), textOf(7))
  })

  for (const [what, first, second] of [
    ['another lineage', textOf(1), textOf(1, 'other')],
    ['another serial', textOf(2), textOf(1)],
    ['other content', textOf(1), textOf(1, 'l', 'x')],
  ] as const)
    it(`does not replace one of ${what}`, async () => {
      const { objects } = memoryCluster()
      await saveState(objects, owner, first, 0)
      for (const attempt of [take(objects, second), checkImport(objects, owner, second)])
        await assert.rejects(attempt, { code: 'CAPT_STATE_CONFLICT' })
      assert.equal(await loadState(objects, owner), first)
    })

  it('is refused where a damaged one is, where a lock is held, and when it is damaged itself', async () => {
    const { objects } = memoryCluster()
    await assert.rejects(take(objects, '{}'), { code: 'CAPT_STATE_UNREADABLE' })
    await saveState(objects, owner, textOf(1), 0)
    const key = { namespace: 'default', name: stateName(suffixOf(owner)) }
    await objects.patch(SecretKind, key, { type: 'merge', body: { data: { tfstate: 'H4sI' } } })
    await assert.rejects(take(objects, textOf(1)), { code: 'CAPT_STATE_UNREADABLE' })
    const lease = { namespace: 'default', name: leaseName(suffixOf(owner)) }
    await objects.patch(LeaseKind, lease, { type: 'merge', body: { spec: { holderIdentity: 'a person' } } })
    await assert.rejects(take(objects, textOf(1)), { code: 'CAPT_STATE_LOCKED' })
  })

  it('is refused where a backend of the template keeps it', () => {
    const verdict = decideImport({ serial: 1, lineage: 'l' }, textOf(1), {}, { backend: 's3' })
    assert.equal(verdict.is === 'refused' && verdict.code, 'CAPT_STATE_CONFLICT')
  })
})
