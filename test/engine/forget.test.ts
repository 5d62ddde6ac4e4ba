// A person lets go: `capt forget` lists what is recorded, and afterwards nothing is held for it. And what is held for applies
// that are gone is found.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  AddonDelivery,
  AddonPipeline,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  CustomResourceDefinitionKind,
  EventKind,
  SecretKind,
  toCustomResourceDefinition,
  WorkspaceTemplateApply,
} from '#api'
import { readRecord } from '#engine'
import { capt } from '../support/cli-io.ts'
import { keptFor, ledgerModule, namesOf, readLedger, strip } from '../support/engine/ledger.ts'
import {
  type EngineWorld,
  engineWorld,
  hasTerraform,
  isReady,
  isStalled,
  type Manager,
} from '../support/engine/world.ts'

const THREE = ['0', '1', '2']

describe('capt forget', { skip: !hasTerraform && 'no terraform' }, () => {
  let world: EngineWorld
  let manager: Manager
  before(async () => {
    world = await engineWorld()
    // The doctor looks at all kinds of capt.
    for (const kind of [AddonDelivery, AddonPipeline, CAPTCluster, CAPTControlPlane])
      await world.create(CustomResourceDefinitionKind, toCustomResourceDefinition(kind) as unknown as AnyObject)
    manager = await world.manager()
  })
  after(() => world.close())

  const key = (name: string) => ({ namespace: 'default', name })
  const file = (name: string) => join(world.folder, `ledger-${name}`)
  const call = (...argv: string[]) => capt([...argv, '--kubeconfig', world.kubeconfig])
  const make = async (name: string) => {
    await world.make(name, ledgerModule(file(name), 3))
    await world.until(name, isReady)
  }
  const loseState = async (name: string) => {
    await strip(world.connection.objects, SecretKind, namesOf(name).state)
    rmSync(join(world.workDir, 'workspaces', namesOf(name).suffix), { recursive: true, force: true })
  }

  it('lists the resources, refuses without --orphan-resources, and changes nothing with --dry-run', async () => {
    await make('listed')
    const refused = await call('forget', 'listed', '--yes')
    assert.equal(refused.code, 2)
    for (const i of THREE) assert.match(refused.stderr, new RegExp(`terraform_data\\.x\\[${i}\\]`))
    assert.match(refused.stderr, /capt delete wtapply listed destroys them/)
    assert.equal((await call('forget', 'listed', '--dry-run', '--orphan-resources')).code, 0)
    assert.equal((await readRecord(world.connection.objects, key('listed')))?.record.state?.resources, 3)
    const unknown = await call('forget', 'nobody', '--orphan-resources', '--yes')
    assert.match(unknown.stderr, /There is no WorkspaceTemplateApply "nobody"/)
  })

  it('ends the deletion of an apply whose state is lost, and records that in an Event', async () => {
    const { objects } = world.connection
    await make('lost')
    await loseState('lost')
    await objects.delete(WorkspaceTemplateApply, key('lost'))
    await world.until('lost', isStalled)
    const done = await call('forget', 'lost', '--orphan-resources', '--yes')
    assert.equal(done.code, 0, done.stderr)
    assert.match(done.stderr, /3 resources that nothing names any more/)
    await world.untilGone('lost')
    assert.deepEqual(readLedger(file('lost')).gone, [])
    assert.deepEqual(await keptFor(objects, 'lost'), [])
    const notes: string[] = []
    for await (const event of objects.list(EventKind, { namespace: 'default' })) {
      const { reason, note } = event as { reason?: string; note?: string }
      if (reason === 'ResourcesOrphaned') notes.push(note ?? '')
    }
    assert.deepEqual(notes, ['A person let go of the workspace; 3 resources stay without an owner'])
  })

  it('lets an apply start over, also when the work folder still has the old state', async () => {
    const { objects } = world.connection
    await make('restarted')
    const before = (await readRecord(objects, key('restarted')))!.record
    const done = await call('forget', 'restarted', '--orphan-resources', '--yes')
    assert.equal(done.code, 0, done.stderr)
    await world.until('restarted', (apply) => isReady(apply) && apply.status?.run?.id !== before.run?.id)
    assert.deepEqual(readLedger(file('restarted')).made, [...THREE, ...THREE].sort())
    const { record } = (await readRecord(objects, key('restarted')))!
    assert.notEqual(record.workspaceId, before.workspaceId)
    assert.partialDeepStrictEqual(record.forgotten, { workspaceId: before.workspaceId, resources: 3 })
    await objects.delete(WorkspaceTemplateApply, key('restarted'))
    await world.untilGone('restarted')
    assert.equal(readLedger(file('restarted')).gone.length, 3, 'the new ones are destroyed, the old ones are nobody’s')
  })

  it('cleans what is kept for an apply whose finalizers were stripped; the doctor finds it first', async () => {
    const { objects } = world.connection
    await make('stripped')
    await manager.stop()
    await objects.delete(WorkspaceTemplateApply, key('stripped'))
    await strip(objects, WorkspaceTemplateApply, 'stripped')
    assert.equal(await objects.get(WorkspaceTemplateApply, key('stripped')), undefined)
    manager = await world.manager()
    const kept = await keptFor(objects, 'stripped')
    assert.ok(kept.length >= 3, kept.join(', '))

    const examined = await call('doctor', '--skip-aws')
    assert.equal(examined.code, 1, examined.stderr)
    assert.equal(examined.stderr, '')
    assert.match(examined.stdout, /WorkspaceTemplateApply\/stripped/)
    assert.match(examined.stdout, /capt forget stripped --orphan-resources/)
    const done = await call('forget', 'stripped', '--orphan-resources', '--yes')
    assert.equal(done.code, 0, done.stderr)
    assert.match(done.stderr, /terraform_data\.x\[2\]/)
    assert.deepEqual(await keptFor(objects, 'stripped'), [], 'nothing is left Terminating')
    assert.doesNotMatch((await call('doctor', '--skip-aws')).stdout, /stripped/)
  })
})
