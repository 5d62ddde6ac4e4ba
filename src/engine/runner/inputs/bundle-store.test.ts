import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { SecretKind } from '#api'
import type { Objects } from '#kube'
import { silentLog } from '#lib'
import { anApply, aTemplate, memoryCluster } from '#testing'
import { type BundleRef, newRecord, type Run, type RunRecord } from '../../record/record.ts'
import { renderWorkspace } from '../../render/render.ts'
import { bundleRef, packBundle, saveBundle } from '../../saved/bundle.ts'
import type { RunContext } from '../context.ts'
import { BundleStore } from './bundle-store.ts'
import type { Layout } from './layout.ts'

const root = mkdtempSync(join(tmpdir(), 'capt-bundle-store-'))
after(() => rmSync(root, { recursive: true, force: true }))

const owner = { namespace: 'default', name: 'demo', uid: '1', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const rendering = renderWorkspace(aTemplate('resource "terraform_data" "x" {}'), anApply({}, { name: 'demo' }))
assert.ok(rendering.ok)
const { workspace } = rendering
const layout = { workspace, private: new Set<string>() } as unknown as Layout

function aRun(more: Partial<RunRecord> = {}, objects: Objects = memoryCluster().objects) {
  let record: RunRecord = { ...newRecord('w'), ...more }
  const context = {
    folder: { work: root },
    request: { verb: 'apply', owner, tool: { name: 'terraform', version: '1.11.4' } },
    world: { objects, log: silentLog },
    writer: {
      get record() {
        return record
      },
      update: async (change: (before: RunRecord) => RunRecord) => {
        record = change(record)
      },
    },
  } as unknown as RunContext
  const stored = async () => {
    const names: string[] = []
    for await (const { metadata } of objects.list(SecretKind, { namespace: 'default' })) names.push(metadata.name)
    return names
  }
  return { context, objects, stored, record: () => record }
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
    const announced: (readonly string[])[] = []
    const watched = {
      ...objects,
      apply: async (...args: Parameters<Objects['apply']>) => {
        announced.push((run.record().spare ?? []).map(({ id }) => id))
        return await objects.apply(...args)
      },
    } as Objects
    const run = aRun({}, watched)
    const ref = await new BundleStore(run.context, layout).store()
    assert.deepEqual(announced, [[ref?.id]])
  })

  it('are announced by a run that has planned, and the record says so', async () => {
    const run = aRun({ run: { id: 'r', phase: 'Init' } as Run })
    await new BundleStore(run.context, layout).store()
    assert.equal(run.record().run?.phase, 'Plan')
  })

  it('are taken away again when the run came to nothing', async () => {
    const run = aRun()
    const store = new BundleStore(run.context, layout)
    await store.store()
    assert.equal((await run.stored()).length, 1)
    await store.sweep()
    assert.deepEqual(await run.stored(), [])
    assert.deepEqual(store.left(run.record().spare), [])
  })

  it('of a runner that died before it could take them away are taken away by the next', async () => {
    const { objects } = memoryCluster()
    const old = await anOldBundle(objects, 'old')
    const bundle = await anOldBundle(objects, 'current')
    const run = aRun({ bundle: { ...bundle, hash: workspace.hash }, spare: [old] }, objects)
    const store = new BundleStore(run.context, layout)
    assert.equal((await store.store())?.id, bundle.id)
    await store.sweep()
    assert.equal((await run.stored()).length, 1, 'the one in use stays')
    assert.deepEqual(store.left(run.record().spare), [])
  })

  it('that cannot be taken away stay in the record', async () => {
    const { objects } = memoryCluster()
    const old = await anOldBundle(objects, 'old')
    const refusing = { ...objects, delete: async () => Promise.reject(new Error('away')) } as unknown as Objects
    const run = aRun({ spare: [old] }, refusing)
    const store = new BundleStore(run.context, layout)
    await store.sweep()
    assert.ok(store.left(run.record().spare).some(({ id }) => id === old.id))
  })
})
