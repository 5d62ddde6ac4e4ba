// capt move between two management clusters in memory: the target goes on, the source is empty, nothing is destroyed.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import {
  AddonDelivery,
  AddonPipeline,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  type KindRef,
  NamespaceKind,
  type Secret,
  SecretKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { defaultPipeline } from '#controllers'
import { aTemplate } from '#testing'
import { command as kubeconfig } from '../../../src/cli/commands/clusters/kubeconfig.ts'
import { command as move } from '../../../src/cli/commands/clusters/move.ts'
import { moveFlags as flags, ioFor, namesOf } from '../../support/cluster/move-io.ts'
import { aCluster, applyAll, ClusterKind, type ClusterWorld, clusterWorld } from '../../support/cluster/world.ts'

const worlds: ClusterWorld[] = []
after(() => Promise.all(worlds.map((world) => world.stop())))

async function begin(): Promise<ClusterWorld> {
  const world = await clusterWorld()
  worlds.push(world)
  world.cluster.seed(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } })
  return world
}

async function aSource(): Promise<ClusterWorld> {
  const world = await begin()
  for (const name of ['vpc', 'eks']) world.cluster.seed(WorkspaceTemplate, aTemplate(undefined, {}, { name }))
  await applyAll(world, aCluster())
  await world.settle()
  // What an engine keeps beside the apply: it must come along, because it is the state.
  const apply = world.get(WorkspaceTemplateApply, 'demo-vpc')!
  world.cluster.seed(SecretKind, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'tfstate-default-demo-vpc',
      namespace: 'default',
      finalizers: ['infrastructure.cluster.x-k8s.io/workspace-in-use'],
      ownerReferences: [
        { apiVersion: apply.apiVersion, kind: apply.kind, name: apply.metadata.name, uid: apply.metadata.uid! },
      ],
    },
    data: { tfstate: 'eA==' },
  } as Secret)
  world.cluster.seed(SecretKind, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'foreign', namespace: 'default' },
  } as Secret)
  world.ledger.length = 0
  return world
}

describe('capt move', () => {
  it('hands a cluster over: ready there, gone here, nothing run and nothing destroyed', async () => {
    const here = await aSource()
    const there = await begin()
    const io = ioFor(here, there)
    assert.equal(await move.run(flags(), io), 0)
    await there.settle()
    await here.settle()
    assert.equal(io.text(), 'Moved demo to https://there\n')
    assert.equal(there.condition(ClusterKind, 'demo', 'Available')?.status, 'True')
    assert.equal(there.condition(CAPTControlPlane, 'demo', 'Paused')?.status, 'False')
    assert.deepEqual(there.ledger, [])
    assert.deepEqual(
      here.ledger.filter(({ verb }) => verb === 'destroy'),
      [],
    )
    for (const kind of [ClusterKind, CAPTCluster, CAPTControlPlane, WorkspaceTemplateApply, WorkspaceTemplate])
      assert.deepEqual(namesOf(here, kind), [], kind.kind)
    assert.deepEqual(namesOf(here, SecretKind), ['foreign'])
    assert.deepEqual(namesOf(there, SecretKind), [
      'demo-ca',
      'demo-eks-connection',
      'demo-kubeconfig',
      'demo-user-kubeconfig',
      'demo-vpc-connection',
      'tfstate-default-demo-vpc',
    ])
    assert.deepEqual(namesOf(there, WorkspaceTemplate), ['eks', 'vpc'])
  })

  it('restores the owner references to the new objects', async () => {
    const here = await aSource()
    const there = await begin()
    await move.run(flags(), ioFor(here, there))
    const apply = there.get(WorkspaceTemplateApply, 'demo-vpc')!
    const infra = there.get(CAPTCluster, 'demo')!
    assert.equal(apply.metadata.ownerReferences?.[0]?.uid, infra.metadata.uid)
    assert.equal(
      there.get(SecretKind, 'tfstate-default-demo-vpc')?.metadata.ownerReferences?.[0]?.uid,
      apply.metadata.uid,
    )
    assert.equal(infra.metadata.ownerReferences?.[0]?.uid, there.get(ClusterKind, 'demo')?.metadata.uid)
  })

  it('waits for a run in progress, and moves nothing when it does not end', async () => {
    const here = await aSource()
    const there = await begin()
    here.held.add('demo-eks-controlplane-apply')
    await here.edit(CAPTControlPlane, 'demo', { spec: { version: '1.35' } })
    await here.settle()
    const moving = move.run(flags({ wait: '30s' }), ioFor(here, there))
    const refused = assert.rejects(moving, /Still in progress: .*demo-eks-controlplane-apply/)
    for (let second = 0; second < 40; second++) await here.clock.advance(1000)
    await refused
    assert.deepEqual(namesOf(there, ClusterKind), [])
    assert.partialDeepStrictEqual(here.get(ClusterKind, 'demo'), { spec: { paused: false } })
  })

  it('takes back what it copied when the target refuses something', async () => {
    const here = await aSource()
    const there = await begin()
    const others = there.cluster.others
    const create = others.create.bind(others)
    others.create = ((kind: KindRef, object: never) => {
      if (kind.kind === 'WorkspaceTemplateApply') return Promise.reject(new Error('quota'))
      return create(kind, object)
    }) as typeof others.create
    await assert.rejects(move.run(flags(), ioFor(here, there)), /quota/)
    assert.deepEqual(namesOf(there, ClusterKind), [])
    assert.deepEqual(namesOf(there, CAPTCluster), [])
    await here.settle()
    assert.equal(here.condition(ClusterKind, 'demo', 'Available')?.status, 'True')
    assert.deepEqual(here.ledger, [])
  })

  it('leaves behind what clusters that stay still need, and takes a copy along', async () => {
    const here = await aSource()
    const there = await begin()
    await applyAll(here, aCluster('other'))
    await here.settle()
    assert.equal(await move.run({ ...flags(), positionals: ['demo'] }, ioFor(here, there)), 0)
    await there.settle()
    await here.settle()
    assert.deepEqual(namesOf(here, ClusterKind), ['other'])
    assert.deepEqual(namesOf(here, WorkspaceTemplate), ['eks', 'vpc'])
    assert.deepEqual(namesOf(there, WorkspaceTemplate), ['eks', 'vpc'])
    assert.equal(here.condition(ClusterKind, 'other', 'Available')?.status, 'True')
    assert.equal(there.condition(ClusterKind, 'demo', 'Available')?.status, 'True')
  })

  it('leaves a template that applies of other namespaces use', async () => {
    const here = await aSource()
    const there = await begin()
    const template = { namespace: 'default', name: 'vpc' }
    await here.cluster.others.patch(
      WorkspaceTemplate,
      template,
      { type: 'merge', body: { status: { usedBy: 2 } } },
      { subresource: 'status' },
    )
    assert.equal(await move.run(flags(), ioFor(here, there)), 0)
    assert.deepEqual(namesOf(here, WorkspaceTemplate), ['vpc'])
  })

  it('hands add-ons to the pipeline that capt has in the target', async () => {
    const here = await aSource()
    const there = await begin()
    const shipped = (namespace: string) => defaultPipeline(namespace) as unknown as AnyObject
    here.cluster.seed(AddonPipeline, shipped('default'))
    there.cluster.seed(AddonPipeline, shipped('capt-system'))
    here.cluster.seed(AddonDelivery, {
      apiVersion: AddonDelivery.apiVersion,
      kind: AddonDelivery.kind,
      metadata: { name: 'demo', namespace: 'default', labels: { 'cluster.x-k8s.io/cluster-name': 'demo' } },
      spec: { clusterName: 'demo', pipelineRef: { name: 'default' } },
    } as unknown as AddonDelivery)
    assert.equal(await move.run(flags(), ioFor(here, there)), 0)
    const delivery = there.get<AddonDelivery>(AddonDelivery, 'demo')
    assert.deepEqual(delivery?.spec.pipelineRef, { name: 'default', namespace: 'capt-system' })
    assert.deepEqual(namesOf(there, AddonPipeline), ['default'], 'and there is no second one')
    assert.deepEqual(namesOf(here, AddonPipeline), ['default'], 'it belongs to the home, not to the cluster')
  })

  it('never overwrites a cluster of the same name', async () => {
    const here = await aSource()
    const there = await aSource()
    await assert.rejects(move.run(flags(), ioFor(here, there)), /Cluster demo exists in the target and differs/)
  })

  it('goes on when it was cut off while deleting here', async () => {
    const here = await aSource()
    const there = await begin()
    const others = here.cluster.others
    const remove = others.delete.bind(others)
    others.delete = ((kind: KindRef, ...rest: [never]) =>
      kind.kind === 'CAPTControlPlane'
        ? Promise.reject(new Error('cut off'))
        : remove(kind, ...rest)) as typeof others.delete
    await assert.rejects(move.run(flags(), ioFor(here, there)), /cut off/)
    others.delete = remove
    assert.equal(await move.run(flags(), ioFor(here, there)), 0)
    await there.settle()
    assert.deepEqual(namesOf(here, ClusterKind), [])
    assert.equal(there.condition(ClusterKind, 'demo', 'Available')?.status, 'True')
    assert.deepEqual(there.ledger, [])
  })

  it('shows what would go and changes nothing with --dry-run', async () => {
    const here = await aSource()
    const there = await begin()
    const io = ioFor(here, there)
    const before = here.cluster.storage.version
    assert.equal(await move.run(flags({ 'dry-run': true }), io), 0)
    assert.match(io.said(), /Cluster\/demo\n/)
    assert.match(io.said(), /Secret\/tfstate-default-demo-vpc/)
    assert.doesNotMatch(io.said(), /foreign/)
    assert.equal(here.cluster.storage.version, before)
  })

  it('refuses a cluster that is paused already', async () => {
    const here = await aSource()
    await here.edit(ClusterKind, 'demo', { spec: { paused: true } })
    await assert.rejects(move.run(flags(), ioFor(here, await begin())), /Cluster demo is paused/)
  })
})

describe('capt kubeconfig', () => {
  it('prints the one for people, or the one with a token and how long that works', async () => {
    const here = await aSource()
    const io = ioFor(here)
    assert.equal(await kubeconfig.run({ values: {}, positionals: ['demo'] }, io), 0)
    assert.match(io.text(), /command: aws/)
    const token = ioFor(here)
    assert.equal(await kubeconfig.run({ values: { token: true }, positionals: ['demo'] }, token), 0)
    assert.match(token.text(), /token: k8s-aws-v1\./)
    assert.match(token.said(), /works for another 1[0-9]m/)
  })

  it('reports a cluster that does not exist as not found', async () => {
    const here = await begin()
    await assert.rejects(
      kubeconfig.run({ values: {}, positionals: ['demo'] }, ioFor(here)),
      /There is no Cluster "demo" in namespace default/,
    )
  })
})
