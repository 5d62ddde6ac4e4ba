import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { SecretKind } from '#api'
import type { Objects } from '#kube'
import { silentLog } from '#lib'
import { anApply, aTemplate, memoryCluster } from '#testing'
import { bundleRef, packBundle, saveBundle } from '../bundle.ts'
import { type BundleRef, newRecord, type Run, type RunRecord } from '../record/record.ts'
import { render } from '../render/render.ts'
import { BundleKeeper } from './bundle-keeper.ts'
import type { Layout } from './prepare.ts'
import type { Session } from './session.ts'

const root = mkdtempSync(join(tmpdir(), 'capt-bundle-keeper-'))
after(() => rmSync(root, { recursive: true, force: true }))

const owner = { namespace: 'default', name: 'demo', uid: '1', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const rendering = render(aTemplate('resource "terraform_data" "x" {}'), anApply({}, { name: 'demo' }))
assert.ok(rendering.ok)
const { workspace } = rendering
const layout = { workspace, private: new Set<string>() } as unknown as Layout

function aRun(more: Partial<RunRecord> = {}, objects: Objects = memoryCluster().objects) {
  let record: RunRecord = { ...newRecord('w'), ...more }
  const session = {
    folder: { work: root },
    request: { verb: 'apply', owner, tool: { name: 'terraform', version: '1.11.4' } },
    world: { objects, log: silentLog },
    keeper: {
      get record() {
        return record
      },
      update: async (change: (before: RunRecord) => RunRecord) => {
        record = change(record)
      },
    },
  } as unknown as Session
  const stored = async () => {
    const names: string[] = []
    for await (const { metadata } of objects.list(SecretKind, { namespace: 'default' })) names.push(metadata.name)
    return names
  }
  return { session, objects, stored, record: () => record }
}

async function anOldBundle(objects: Objects, text: string): Promise<BundleRef> {
  writeFileSync(join(root, 'main.tf'), text)
  const packed = packBundle(root, workspace, 'terraform 1.11.4')
  const ref = bundleRef(packed, `hash of ${text}`, 'terraform 1.11.4')
  await saveBundle(objects, owner, packed, ref)
  writeFileSync(join(root, 'main.tf'), 'now')
  return ref
}

describe('the inputs of a run', () => {
  it('are known to the record before the first part of them is stored', async () => {
    const { objects } = memoryCluster()
    const told: (readonly string[])[] = []
    const watched = {
      ...objects,
      apply: async (...args: Parameters<Objects['apply']>) => {
        told.push((run.record().spare ?? []).map(({ id }) => id))
        return await objects.apply(...args)
      },
    } as Objects
    const run = aRun({}, watched)
    const ref = await new BundleKeeper(run.session, layout).store()
    assert.deepEqual(told, [[ref?.id]])
  })

  it('are announced by a run that has planned, and whoever looks is told so', async () => {
    const run = aRun({ run: { id: 'r', phase: 'Init' } as Run })
    await new BundleKeeper(run.session, layout).store()
    assert.equal(run.record().run?.phase, 'Plan')
  })

  it('are taken away again when the run came to nothing', async () => {
    const run = aRun()
    const keeper = new BundleKeeper(run.session, layout)
    await keeper.store()
    assert.equal((await run.stored()).length, 1)
    await keeper.sweep()
    assert.deepEqual(await run.stored(), [])
    assert.deepEqual(keeper.left(run.record().spare), [])
  })

  it('of a runner that died before it could take them away are taken away by the next', async () => {
    const { objects } = memoryCluster()
    const old = await anOldBundle(objects, 'old')
    const bundle = await anOldBundle(objects, 'current')
    const run = aRun({ bundle: { ...bundle, hash: workspace.hash }, spare: [old] }, objects)
    const keeper = new BundleKeeper(run.session, layout)
    assert.equal((await keeper.store())?.id, bundle.id)
    await keeper.sweep()
    assert.equal((await run.stored()).length, 1, 'the one in use stays')
    assert.deepEqual(keeper.left(run.record().spare), [])
  })

  it('that cannot be taken away stay in the record', async () => {
    const { objects } = memoryCluster()
    const old = await anOldBundle(objects, 'old')
    const refusing = { ...objects, delete: async () => Promise.reject(new Error('away')) } as unknown as Objects
    const run = aRun({ spare: [old] }, refusing)
    const keeper = new BundleKeeper(run.session, layout)
    await keeper.sweep()
    assert.ok(keeper.left(run.record().spare).some(({ id }) => id === old.id))
  })
})
