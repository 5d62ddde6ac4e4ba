// Absent is not empty: the records of a workspace are taken away one by one, and nothing is made twice or left behind.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { conditionOf, RETRY_ANNOTATION, type Secret, SecretKind, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { readRecord } from '#engine'
import { type EngineWorld, engineWorld, hasTerraform, isReady, isStalled, type Manager } from '../engine-world.ts'
import { keptFor, ledgerModule, namesOf, readLedger, strip } from '../support/ledger.ts'

const FIVE = ['0', '1', '2', '3', '4']

describe('a workspace whose records are lost', { skip: !hasTerraform && 'no terraform' }, () => {
  let world: EngineWorld
  let manager: Manager
  before(async () => {
    world = await engineWorld()
    manager = await world.manager()
  })
  after(() => world.close())

  const key = (name: string) => ({ namespace: 'default', name })
  const file = (name: string) => join(world.folder, `ledger-${name}`)
  const ledger = (name: string) => readLedger(file(name))
  const folderOf = (name: string) => join(world.workDir, 'workspaces', namesOf(name).suffix)
  const make = async (name: string) => {
    await world.make(name, ledgerModule(file(name), 5))
    await world.until(name, isReady)
    assert.deepEqual(ledger(name).made, FIVE)
  }
  const retry = (name: string) =>
    world.connection.objects.patch(WorkspaceTemplateApply, key(name), {
      type: 'merge',
      body: { metadata: { annotations: { [RETRY_ANNOTATION]: new Date().toISOString() } } },
    })
  /** Another run, to its good end. */
  const rerun = async (name: string) => {
    const { status } = await world.until(name, () => true)
    await retry(name)
    await world.until(name, (apply) => isReady(apply) && apply.status?.run?.id !== status?.run?.id)
  }
  const remove = (name: string) => world.connection.objects.delete(WorkspaceTemplateApply, key(name))
  const messageOf = (apply: WorkspaceTemplateApply) => conditionOf(apply, 'Stalled')?.message ?? ''
  const putBack = (secret: Secret) => {
    const { name, namespace, labels, annotations } = secret.metadata
    return world.create<Secret>(SecretKind, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: namespace!, labels: labels!, annotations: annotations! },
      data: secret.data!,
    })
  }

  it('stalls when the state Secret and the work folder are gone, on retry and on delete, until the state is back', async () => {
    const { objects } = world.connection
    await make('stateless')
    const state = (await strip(objects, SecretKind, namesOf('stateless').state)) as Secret
    rmSync(folderOf('stateless'), { recursive: true, force: true })

    await retry('stateless')
    const stalled = await world.until('stateless', isStalled)
    assert.match(messageOf(stalled), /5 resources are recorded/)
    assert.match(messageOf(stalled), /capt forget stateless --orphan-resources/)
    assert.equal(stalled.status?.lastError?.code, 'CAPT_STATE_LOST')
    assert.deepEqual(ledger('stateless').made, FIVE, 'nothing is made twice')

    await remove('stateless')
    await world.until(
      'stateless',
      (apply) => isStalled(apply) && conditionOf(apply, 'Ready')?.reason === 'DestroyFailed',
    )
    assert.deepEqual(ledger('stateless').gone, [])

    await putBack(state)
    await retry('stateless')
    await world.untilGone('stateless')
    assert.deepEqual(ledger('stateless').gone, FIVE)
    assert.deepEqual(await keptFor(objects, 'stateless'), [])
  })

  it('goes on from the work folder when only the state Secret is gone', async () => {
    const { objects } = world.connection
    await make('folder-only')
    await strip(objects, SecretKind, namesOf('folder-only').state)
    await rerun('folder-only')
    assert.ok(await objects.get(SecretKind, key(namesOf('folder-only').state)), 'the state is saved again')
    await remove('folder-only')
    await world.untilGone('folder-only')
    assert.deepEqual(ledger('folder-only'), { made: FIVE, gone: FIVE })
  })

  it('destroys what the state holds when the run record and the template are gone', async () => {
    const { objects } = world.connection
    await make('recordless')
    await manager.stop()
    await strip(objects, SecretKind, namesOf('recordless').record)
    rmSync(folderOf('recordless'), { recursive: true, force: true })
    await strip(objects, WorkspaceTemplate, 'recordless')
    await remove('recordless')
    manager = await world.manager()
    await world.untilGone('recordless')
    assert.deepEqual(ledger('recordless').gone, FIVE)
    assert.deepEqual(
      await keptFor(objects, 'recordless'),
      [],
      'the copies and inputs that the record named are gone too',
    )
  })

  it('makes nothing twice when the run record is gone, and keeps the id that resources are tagged with', async () => {
    const { objects } = world.connection
    await make('rebuilt')
    const before = (await readRecord(objects, key('rebuilt')))!.record
    await manager.stop()
    await strip(objects, SecretKind, namesOf('rebuilt').record)
    const again = rerun('rebuilt')
    manager = await world.manager()
    await again
    const { record } = (await readRecord(objects, key('rebuilt')))!
    assert.equal(record.workspaceId, before.workspaceId)
    assert.deepEqual([record.bundle?.id, record.state?.resources], [before.bundle?.id, 5])
    assert.deepEqual(ledger('rebuilt').made, FIVE)
    await remove('rebuilt')
    await world.untilGone('rebuilt')
    assert.deepEqual(ledger('rebuilt').gone, FIVE)
    assert.deepEqual(await keptFor(objects, 'rebuilt'), [])
  })

  it('stalls a deletion when record, state and folder are gone and the status of the apply names resources', async () => {
    const { objects } = world.connection
    await make('nothing-left')
    await manager.stop()
    for (const name of [namesOf('nothing-left').record, namesOf('nothing-left').state])
      await strip(objects, SecretKind, name)
    rmSync(folderOf('nothing-left'), { recursive: true, force: true })
    await remove('nothing-left')
    manager = await world.manager()
    const stalled = await world.until('nothing-left', isStalled)
    assert.match(messageOf(stalled), /5 resources are recorded/)
    // Told once, it stays so: the status that names them is not overwritten by the lack of a record.
    await manager.stop()
    manager = await world.manager()
    await world.until('nothing-left', isStalled)
    assert.deepEqual(ledger('nothing-left').gone, [])
  })

  it('makes nothing twice when record, state and folder are gone and the status of the apply names resources', async () => {
    const { objects } = world.connection
    await make('status-only')
    await manager.stop()
    for (const name of [namesOf('status-only').record, namesOf('status-only').state])
      await strip(objects, SecretKind, name)
    rmSync(folderOf('status-only'), { recursive: true, force: true })
    manager = await world.manager()
    await world.until('status-only', isStalled)
    await retry('status-only')
    const stalled = await world.until(
      'status-only',
      (apply) => isStalled(apply) && (apply.status?.run?.attempt ?? 0) === 1,
    )
    assert.match(messageOf(stalled), /5 resources are recorded/)
    assert.deepEqual(ledger('status-only').made, FIVE)
  })

  it('stalls on a damaged run record beside a state with resources, and goes on when its Secret is deleted', async () => {
    const { objects } = world.connection
    await make('garbled')
    await manager.stop()
    const { record } = namesOf('garbled')
    await objects.patch(SecretKind, key(record), { type: 'merge', body: { data: { record: 'AAAA' } } })
    manager = await world.manager()
    const stalled = await world.until('garbled', isStalled)
    assert.equal(conditionOf(stalled, 'Ready')?.reason, 'RecordUnreadable')
    assert.match(messageOf(stalled), /the state has 5 resources.*delete that Secret/s)
    await strip(objects, SecretKind, record)
    await retry('garbled')
    await world.until('garbled', isReady)
    assert.deepEqual(ledger('garbled').made, FIVE)
    await remove('garbled')
    await world.untilGone('garbled')
    assert.deepEqual(ledger('garbled').gone, FIVE)
    assert.deepEqual(await keptFor(objects, 'garbled'), [])
  })
})
