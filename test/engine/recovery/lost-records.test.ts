// Absent is not empty: the records of a workspace are taken away one by one, and nothing is made twice or left behind.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  conditionOf,
  LeaseKind,
  RETRY_ANNOTATION,
  type Secret,
  SecretKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { readRecord } from '#engine'
import { systemClock } from '#lib'
import { acquireLock } from '../../../src/engine/lock/lock.ts'
import { ownIdentity } from '../../../src/engine/lock/processes.ts'
import { capt } from '../../support/cli-io.ts'
import { keptFor, ledgerModule, namesOf, readLedger, strip } from '../../support/engine/ledger.ts'
import {
  type EngineWorld,
  engineWorld,
  hasTerraform,
  isReady,
  isStalled,
  type Manager,
} from '../../support/engine/world.ts'

async function untilTrue(test: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!(await test())) {
    assert.ok(Date.now() < deadline, 'it did not happen')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

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
    const { status } = await world.until('stateless', isReady)
    const state = (await strip(objects, SecretKind, namesOf('stateless').state)) as Secret
    rmSync(folderOf('stateless'), { recursive: true, force: true })

    await retry('stateless')
    const stalled = await world.until(
      'stateless',
      (apply) => isStalled(apply) || (isReady(apply) && apply.status?.run?.id !== status?.run?.id),
    )
    assert.deepEqual(ledger('stateless').made, FIVE, 'nothing is made twice')
    assert.match(messageOf(stalled), /5 resources are recorded/)
    assert.match(messageOf(stalled), /capt forget stateless --orphan-resources/)
    assert.equal(stalled.status?.lastError?.code, 'CAPT_STATE_LOST')

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

  it('leaves nothing behind when the run after a lost record is cancelled before it looks at the workspace', async () => {
    const { objects } = world.connection
    await make('cancelled')
    const { run, history } = (await readRecord(objects, key('cancelled')))!.record
    await manager.stop()
    const secret = (await strip(objects, SecretKind, namesOf('cancelled').record)) as Secret
    const closed = {
      phase: 'Cancelled',
      fault: { kind: 'cancelled', code: 'CAPT_RUN_CANCELLED', message: '', hint: '' },
    }
    const recreated = { version: 1, workspaceId: 'another', run: { ...run, ...closed }, history }
    const data = { record: Buffer.from(JSON.stringify(recreated)).toString('base64') }
    await putBack({ ...secret, data })
    await remove('cancelled')
    manager = await world.manager()
    await world.untilGone('cancelled')
    assert.deepEqual(ledger('cancelled'), { made: FIVE, gone: FIVE })
    assert.deepEqual(await keptFor(objects, 'cancelled'), [])
  })

  it('leaves nothing behind when the run after a lost record and a lost state finds the workspace locked', async () => {
    const { objects } = world.connection
    await make('locked-out')
    const lease = key(namesOf('locked-out').lock)
    await manager.stop()
    for (const name of [namesOf('locked-out').record, namesOf('locked-out').state])
      await strip(objects, SecretKind, name)
    const hold = (holderIdentity: string | null) =>
      objects.patch(LeaseKind, lease, { type: 'merge', body: { spec: { holderIdentity } } })
    await hold('a person')
    await retry('locked-out')
    manager = await world.manager()
    await world.until('locked-out', (apply) => conditionOf(apply, 'Ready')?.reason === 'StateLocked')
    await hold(null)
    await remove('locked-out')
    await world.untilGone('locked-out')
    assert.deepEqual(ledger('locked-out'), { made: FIVE, gone: FIVE })
    assert.deepEqual(await keptFor(objects, 'locked-out'), [])
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
    // Reported once, it stays so: the status that names them is not overwritten by the lack of a record.
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

  it('stalls when a run was lost with its record and nothing shows what it had begun, and is deleted after capt forget', async () => {
    const { objects } = world.connection
    const name = 'lost-run'
    const holder = { ...ownIdentity(), pid: 2 ** 22 + 1, start: '1' }
    const { apiVersion, kind } = WorkspaceTemplateApply
    const owner = { ...key(name), uid: 'u', apiVersion, kind }
    await acquireLock(objects, systemClock, { owner, runId: 'lost', verb: 'apply', holder, toolVersion: '' })
    await world.make(name, ledgerModule(file(name), 1))
    assert.match(messageOf(await world.until(name, isStalled)), /run lost and its record were lost together/)
    await remove(name)
    const isDeleting = (apply: WorkspaceTemplateApply) => apply.metadata.deletionTimestamp !== undefined
    await world.until(name, (apply) => isDeleting(apply) && isStalled(apply) && apply.status?.phase === 'Stalled')
    const { code, stderr } = await capt(['forget', name, '--orphan-resources', '-y', '--kubeconfig', world.kubeconfig])
    assert.equal(code, 0, stderr)
    await world.untilGone(name)
    assert.deepEqual(ledger(name), { made: [], gone: [] })
    assert.deepEqual(await keptFor(objects, name), [])
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

  it('replaces a damaged run record when the state has no resources', async () => {
    const { objects } = world.connection
    await world.make('outputs-only', 'output "greeting" { value = "hello" }')
    const first = (await world.until('outputs-only', isReady)).status?.run?.id
    await manager.stop()
    const damaged = { type: 'merge', body: { data: { record: 'AAAA' } } } as const
    await objects.patch(SecretKind, key(namesOf('outputs-only').record), damaged)
    manager = await world.manager()
    const again = await world.until('outputs-only', (apply) => isReady(apply) && apply.status?.run?.id !== first)
    assert.equal(conditionOf(again, 'Stalled')?.status ?? 'False', 'False')
    assert.ok((await readRecord(objects, key('outputs-only')))?.record.applied)
    await remove('outputs-only')
    await world.untilGone('outputs-only')
    assert.deepEqual(await keptFor(objects, 'outputs-only'), [])
  })

  it('stalls when the run record is damaged and nothing else is left, and is deleted after capt forget', async () => {
    const { objects } = world.connection
    await make('unreadable')
    await manager.stop()
    await objects.patch(SecretKind, key(namesOf('unreadable').record), {
      type: 'merge',
      body: { data: { record: 'AAAA' } },
    })
    await strip(objects, SecretKind, namesOf('unreadable').state)
    rmSync(folderOf('unreadable'), { recursive: true, force: true })
    await objects.patch(
      WorkspaceTemplateApply,
      key('unreadable'),
      { type: 'merge', body: { status: { state: null } } },
      { subresource: 'status' },
    )
    await remove('unreadable')
    manager = await world.manager()
    const stalled = await world.until('unreadable', isStalled)
    assert.match(messageOf(stalled), /the run record cannot be read, and no other source shows/)
    assert.deepEqual(ledger('unreadable').gone, [])
    const forgotten = await capt(['forget', 'unreadable', '--orphan-resources', '-y', '--kubeconfig', world.kubeconfig])
    assert.equal(forgotten.code, 0, forgotten.stderr)
    await world.untilGone('unreadable')
  })

  for (const how of ['deleted', 'cut'] as const)
    it(`saves record and state once more when they are ${how === 'deleted' ? 'deleted' : 'deleted and cut'} under a run`, async () => {
      const { objects } = world.connection
      const name = `under-a-run-${how}`
      const hold = join(world.folder, `hold-${name}`)
      writeFileSync(hold, '')
      await world.make(name, ledgerModule(file(name), 5, `test $i = 0 || while test -f ${hold}; do sleep 0.1; done;`))
      const state = () => objects.get(SecretKind, key(namesOf(name).state))
      await untilTrue(async () => (await state()) !== undefined)
      const { workspaceId } = (await readRecord(objects, key(name)))!.record
      const { record } = namesOf(name)
      if (how === 'deleted') await strip(objects, SecretKind, record)
      else await objects.patch(SecretKind, key(record), { type: 'merge', body: { data: { record: 'AAAA' } } })
      await strip(objects, SecretKind, namesOf(name).state)
      rmSync(hold)
      await world.until(name, isReady)
      const after = (await readRecord(objects, key(name)))!.record
      assert.deepEqual([after.workspaceId, after.state?.resources, after.run?.phase], [workspaceId, 5, 'Succeeded'])
      await remove(name)
      await world.untilGone(name)
      assert.deepEqual(ledger(name), { made: FIVE, gone: FIVE })
      assert.deepEqual(await keptFor(objects, name), [])
    })

  it('counts resources by their tag only when no source answers, and stalls the deletion when there are some', async () => {
    const { objects } = world.connection
    const asked: string[] = []
    const countTagged = async (_owner: unknown, workspaceId: string) => {
      asked.push(workspaceId)
      return 3
    }
    await manager.stop()
    manager = await world.manager({ countTagged })
    await make('tagged')
    await make('untagged')
    await rerun('untagged')
    await remove('untagged')
    await world.untilGone('untagged')
    assert.deepEqual(asked, [], 'an ordinary life asks nobody')

    const { workspaceId } = (await readRecord(objects, key('tagged')))!.record
    await manager.stop()
    for (const name of [namesOf('tagged').record, namesOf('tagged').state]) await strip(objects, SecretKind, name)
    rmSync(join(folderOf('tagged'), 'work'), { recursive: true })
    rmSync(join(folderOf('tagged'), 'last-state.json'))
    const forgotten = { type: 'merge', body: { status: { state: null } } } as const
    await objects.patch(WorkspaceTemplateApply, key('tagged'), forgotten, { subresource: 'status' })
    await remove('tagged')
    manager = await world.manager({ countTagged })
    const stalled = await world.until('tagged', isStalled)
    assert.match(messageOf(stalled), /the state is gone while 3 resources are recorded/)
    assert.equal(asked[0], workspaceId)
    assert.deepEqual(ledger('tagged').gone, [])

    const { code, stderr } = await capt([
      'forget',
      'tagged',
      '--orphan-resources',
      '-y',
      '--kubeconfig',
      world.kubeconfig,
    ])
    assert.equal(code, 0, stderr)
    await world.untilGone('tagged')
    assert.deepEqual(ledger('tagged').gone, [], 'a person said that they stay')
  })

  it('makes nothing twice when nothing but the tags is left, on a start and on delete', async () => {
    const { objects } = world.connection
    const asked: string[] = []
    // Other applies of this file are stalled and asked for, too.
    const countTagged = async ({ name }: { readonly name: string }, workspaceId: string) => {
      if (name === 'only-tags') asked.push(workspaceId)
      return 5
    }
    await make('only-tags')
    const { workspaceId } = (await readRecord(objects, key('only-tags')))!.record
    await manager.stop()
    for (const name of [namesOf('only-tags').record, namesOf('only-tags').state]) await strip(objects, SecretKind, name)
    rmSync(folderOf('only-tags'), { recursive: true })
    const wiped = { type: 'json', body: [{ op: 'remove', path: '/status' }] } as const
    await objects.patch(WorkspaceTemplateApply, key('only-tags'), wiped, { subresource: 'status' })
    manager = await world.manager({ countTagged })
    const stalled = await world.until('only-tags', (apply) => isStalled(apply) || isReady(apply))
    assert.match(messageOf(stalled), /the state is gone while 5 resources are recorded/)
    assert.equal(stalled.status?.lastError?.code, 'CAPT_STATE_LOST')
    await remove('only-tags')
    await world.until('only-tags', (apply) => /Destroy|gone/.test(messageOf(apply)))
    assert.deepEqual(ledger('only-tags'), { made: FIVE, gone: [] })
    assert.deepEqual([...new Set(asked)], [workspaceId])
  })
})
