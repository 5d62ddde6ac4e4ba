import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { type Secret, SecretKind } from '#api'
import { memoryCluster } from '#testing'
import { stateName, suffixOf } from '../names.ts'
import { reconstructWorkspace } from './reconstruct.ts'
import { stateSource } from './sources.ts'
import { copyRef, saveCopy } from './state-copies.ts'
import { readState } from './state-file.ts'
import { loadState, saveState, verifyState } from './state-store.ts'

const owner = { namespace: 'default', name: 'prod-1', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const stateText = (serial: number, lineage = 'l', resources: readonly object[] = [], extra = '') =>
  JSON.stringify({ version: 4, terraform_version: '1.11.4', serial, lineage, outputs: {}, resources, extra })
const resource = { mode: 'managed', type: 'a', name: 'b', instances: [{ index_key: 0 }, { index_key: 'k' }, {}] }

describe('a state', () => {
  it('is known by serial, lineage and the addresses of what it manages', () => {
    const data = { mode: 'data', type: 'd', name: 'd', instances: [{}] }
    const inModule = { ...resource, module: 'module.m["x"]', instances: [{}] }
    const info = readState(stateText(7, 'l', [resource, data, inModule]))
    assert.deepEqual(info?.addresses, ['a.b', 'a.b["k"]', 'a.b[0]', 'module.m["x"].a.b'])
    assert.equal(info?.serial, 7)
  })

  it('has outputs with integers of 64 bits and with any name', () => {
    const outputs = '{"__proto__":{"value":9223372036854775807},"toString":{"value":[9007199254740993]}}'
    const info = readState(stateText(1).replace('"outputs":{}', `"outputs":${outputs}`))
    assert.equal(
      JSON.stringify(info?.outputs),
      '{"__proto__":{"value":9223372036854775807,"sensitive":false},"toString":{"value":[9007199254740993],"sensitive":false}}',
    )
  })

  for (const [what, text] of [
    ['an empty file', ''],
    ['a file that is cut', stateText(3).slice(0, -5)],
    ['another format', '{"version":3,"serial":1,"lineage":"x"}'],
    ['something else', '[]'],
  ] as const) {
    it(`is not ${what}`, () => assert.equal(readState(text), undefined))
  }
})

describe('the newest state wins', () => {
  for (const [what, folder, saved, use] of [
    ['nothing anywhere', undefined, undefined, 'empty'],
    ['only the folder', stateText(1), undefined, 'folder'],
    ['only the saved one', undefined, stateText(1), 'state'],
    ['a cut file in the folder', '{', stateText(1), 'state'],
    ['a newer one in the folder', stateText(3), stateText(2), 'folder'],
    ['a newer saved one', stateText(2), stateText(3), 'state'],
    ['the same twice', stateText(2), stateText(2), 'state'],
    ['two of the same serial', stateText(2, 'l', [], 'a'), stateText(2, 'l', [], 'b'), 'CAPT_STATE_CONFLICT'],
    ['two lineages', stateText(2, 'x', [resource]), stateText(2), 'CAPT_STATE_CONFLICT'],
    ['another lineage without resources', stateText(9, 'x'), stateText(2), 'state'],
  ] as const) {
    it(`with ${what}`, () => {
      const found = reconstructWorkspace({
        name: 'demo',
        record: { is: 'whole' },
        state: stateSource(saved),
        folder: stateSource(folder),
      })
      assert.equal(found.is === 'use' ? found.from : found.is === 'stalled' ? found.code : found.is, use)
    })
  }
})

describe('saved state', () => {
  /** Text that does not compress, so that it takes several Secrets. */
  const large = (serial: number) => stateText(serial, 'l', [resource], randomBytes(1_500_000).toString('base64'))

  it('has a name that never ends in a number and fits into a label', () => {
    const suffix = suffixOf(owner)
    assert.match(suffix, /^prod-1-[a-z]+$/)
    const long = suffixOf({ namespace: 'n', name: 'x'.repeat(200) })
    assert.ok(long.length <= 63)
    assert.notEqual(suffixOf({ namespace: 'a', name: 'x' }), suffixOf({ namespace: 'b', name: 'x' }))
  })

  it('comes back as it was, in one Secret or in several', async () => {
    const { objects, storage: _storage } = memoryCluster()
    const small = stateText(1)
    let parts = await saveState(objects, owner, small, 0)
    assert.equal(parts, 1)
    assert.equal(await loadState(objects, owner), small)
    const big = large(2)
    parts = await saveState(objects, owner, big, parts)
    assert.ok(parts > 1)
    assert.equal(await loadState(objects, owner), big)
    await verifyState(objects, owner, big)
    assert.equal(await saveState(objects, owner, small, parts), 1)
    assert.equal(await loadState(objects, owner), small)
    const left = await objects.get<Secret>(SecretKind, { namespace: 'default', name: stateName(suffixOf(owner), 1) })
    assert.equal(left, undefined, 'no chunk of a larger state stays behind')
  })

  it('falls back to a whole copy when a write of several Secrets was cut', async () => {
    const { objects, failNext } = memoryCluster()
    const before = large(1)
    const parts = await saveState(objects, owner, before, 0)
    const after = large(2)
    const copy = copyRef(after, '')
    await saveCopy(objects, owner, after, copy)
    failNext('apply', SecretKind, 'Unreachable', { times: 1 })
    await assert.rejects(saveState(objects, owner, after, parts))
    assert.equal(await loadState(objects, owner, [copy]), before, 'nothing was written yet')
    const first = { namespace: 'default', name: stateName(suffixOf(owner)) }
    await objects.patch(SecretKind, first, { type: 'merge', body: { data: { tfstate: 'H4sIAAAA' } } })
    assert.equal(await loadState(objects, owner, [copy]), after)
    await assert.rejects(loadState(objects, owner), { code: 'CAPT_STATE_UNREADABLE' })
  })

  it('is not believed to be saved when something else is read back', async () => {
    const { objects } = memoryCluster()
    await saveState(objects, owner, stateText(1), 0)
    await assert.rejects(verifyState(objects, owner, stateText(2)), { code: 'CAPT_STATE_NOT_SAVED' })
  })
})
