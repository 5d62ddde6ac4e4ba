// How a cluster is paused, moved and deleted: in order, without destroying what is retained, moved or not ours, and
// always to an end.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import {
  AddonDelivery,
  type AnyObject,
  BLOCK_MOVE_ANNOTATION,
  CAPTCluster,
  CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  DELETE_FOR_MOVE_ANNOTATION,
  type KindRef,
  PAUSED_ANNOTATION,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import {
  aCluster,
  applyAll,
  ClusterKind,
  type ClusterWorld,
  type ClusterWorldOptions,
  clusterWorld,
} from '../../support/cluster/world.ts'

const worlds: ClusterWorld[] = []
after(() => Promise.all(worlds.map((world) => world.stop())))

async function ready(
  over: Parameters<typeof aCluster>[1] = {},
  options: ClusterWorldOptions = {},
): Promise<ClusterWorld> {
  const world = await clusterWorld(options)
  worlds.push(world)
  await applyAll(world, aCluster('demo', over))
  await world.settle()
  assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.status, 'True')
  world.ledger.length = 0
  return world
}

const done = (world: ClusterWorld) => world.ledger.map(({ verb, name }) => `${verb} ${name}`)

function aDelivery(tornDown: 'True' | 'False'): AnyObject {
  const conditions = [
    {
      type: 'TornDown',
      status: tornDown,
      reason: 'Removing',
      message: 'NodePools are going',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ]
  return {
    apiVersion: AddonDelivery.apiVersion,
    kind: AddonDelivery.kind,
    metadata: { name: 'demo-default', namespace: 'default', labels: { [CLUSTER_NAME_LABEL]: 'demo' } },
    spec: { clusterName: 'demo', pipelineRef: { name: 'default' } },
    status: { conditions },
  } as AnyObject
}

describe('deleting a Cluster', () => {
  it('destroys the control plane, then the VPC, and leaves nothing', async () => {
    const world = await ready()
    await world.remove(ClusterKind, 'demo')
    await world.settle()
    assert.deepEqual(done(world), ['destroy demo-eks-controlplane-apply', 'destroy demo-vpc'])
    for (const kind of [ClusterKind, CAPTCluster, CAPTControlPlane]) assert.equal(world.get(kind, 'demo'), undefined)
    for (const name of ['demo-kubeconfig', 'demo-user-kubeconfig', 'demo-ca'])
      assert.equal(world.get(SecretKind, name), undefined, name)
  })

  it('keeps the VPC that is to be retained, although garbage is collected', async () => {
    const world = await ready({ infra: { retainVpcOnDelete: true } })
    await world.remove(ClusterKind, 'demo')
    await world.settle()
    assert.deepEqual(done(world), ['destroy demo-eks-controlplane-apply'])
    const kept = world.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, 'demo-vpc')
    assert.ok(kept, 'the apply is kept, with its state')
    assert.deepEqual(kept.metadata.ownerReferences ?? [], [])
    assert.equal(kept.spec.retainWorkspaceOnDelete, true)
    assert.equal(world.get(CAPTCluster, 'demo'), undefined)
  })

  it('keeps a retained VPC even when the finalizer of the CAPTCluster is torn off', async () => {
    const world = await ready({ infra: { retainVpcOnDelete: true } })
    await world.edit(CAPTCluster, 'demo', { metadata: { finalizers: [] } })
    await world.cluster.others.delete(CAPTCluster, { namespace: 'default', name: 'demo' })
    await world.settle()
    assert.ok(!done(world).includes('destroy demo-vpc'), done(world).join())
  })

  it('adopts a retained VPC for a new cluster of that name', async () => {
    const world = await ready({ infra: { retainVpcOnDelete: true } })
    await world.remove(ClusterKind, 'demo')
    await world.settle()
    await applyAll(world, aCluster('demo', { infra: { retainVpcOnDelete: true } }))
    await world.settle()
    assert.equal(world.condition(ClusterKind, 'demo', 'Available')?.status, 'True')
    const infra = world.get(CAPTCluster, 'demo')
    assert.partialDeepStrictEqual(world.get(WorkspaceTemplateApply, 'demo-vpc')?.metadata.ownerReferences, [
      { uid: infra?.metadata.uid },
    ])
  })

  it('never touches an existing VPC', async () => {
    const world = await ready({ infra: { existingVpcId: 'vpc-7' } })
    await world.remove(ClusterKind, 'demo')
    await world.settle()
    assert.deepEqual(done(world), ['destroy demo-eks-controlplane-apply'])
    assert.equal(world.get(ClusterKind, 'demo'), undefined)
  })

  it('waits until the add-ons are torn down, and says so where people look', async () => {
    const world = await ready()
    world.cluster.seed(AddonDelivery, aDelivery('False'))
    await world.remove(ClusterKind, 'demo')
    await world.settle()
    assert.deepEqual(done(world), [])
    const condition = world.condition(CAPTControlPlane, 'demo', 'Deleting')
    assert.equal(condition?.reason, 'WaitingForAddons')
    assert.match(condition?.message ?? '', /demo-default.*NodePools are going/)
    assert.match(world.condition(ClusterKind, 'demo', 'Deleting')?.message ?? '', /NodePools are going/)
    const status = {
      status: { conditions: (aDelivery('True') as unknown as { status: { conditions: object[] } }).status.conditions },
    }
    await world.cluster.others.patch(
      AddonDelivery,
      { namespace: 'default', name: 'demo-default' },
      { type: 'merge', body: status },
      { subresource: 'status' },
    )
    await world.settle()
    assert.equal(world.get(ClusterKind, 'demo'), undefined)
  })

  it('ends even when nobody tears the add-ons down', async () => {
    const world = await ready()
    world.cluster.seed(AddonDelivery, aDelivery('False'))
    await world.remove(ClusterKind, 'demo')
    await world.settle()
    await world.clock.advance(61 * 60_000)
    await world.settle()
    assert.deepEqual(done(world), ['destroy demo-eks-controlplane-apply', 'destroy demo-vpc'])
    assert.equal(world.get(ClusterKind, 'demo'), undefined)
  })

  it('keeps the kubeconfig fresh while the add-ons go', async () => {
    const world = await ready()
    world.cluster.seed(AddonDelivery, aDelivery('False'))
    await world.remove(ClusterKind, 'demo')
    await world.settle()
    const before = world.get<AnyObject & { data: { value: string } }>(SecretKind, 'demo-kubeconfig')!.data.value
    await world.clock.advance(11 * 60_000)
    await world.settle()
    assert.notEqual(
      world.get<AnyObject & { data: { value: string } }>(SecretKind, 'demo-kubeconfig')!.data.value,
      before,
    )
  })

  it('deletes what runs nodes before the control plane', async () => {
    const Pool: KindRef = {
      group: 'infrastructure.cluster.x-k8s.io',
      version: 'v1beta1',
      kind: 'CAPTMachinePool',
      plural: 'captmachinepools',
      namespaced: true,
    }
    const world = await ready({}, { controllers: { workerKinds: [Pool] } })
    world.cluster.seed(Pool, {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
      kind: 'CAPTMachinePool',
      metadata: {
        name: 'nodes',
        namespace: 'default',
        labels: { [CLUSTER_NAME_LABEL]: 'demo' },
        finalizers: ['test/hold'],
      },
    })
    await world.remove(ClusterKind, 'demo')
    await world.settle()
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Deleting')?.reason, 'WaitingForWorkers')
    assert.deepEqual(done(world), [])
    await world.edit(Pool, 'nodes', { metadata: { finalizers: [] } })
    await world.settle()
    assert.equal(world.get(ClusterKind, 'demo'), undefined)
  })

  it('shows a destroy that fails, and goes on when it works', async () => {
    const world = await ready()
    world.held.add('demo-eks-controlplane-apply')
    await world.remove(ClusterKind, 'demo')
    await world.settle()
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Deleting')?.reason, 'Destroying')
    assert.ok(
      world.get(CAPTCluster, 'demo')?.metadata.deletionTimestamp === undefined,
      'the VPC waits for the control plane',
    )
    world.held.clear()
    await world.settle()
    assert.equal(world.get(ClusterKind, 'demo'), undefined)
  })

  it('ends at once when nothing was ever made', async () => {
    const world = await clusterWorld()
    worlds.push(world)
    await applyAll(world, aCluster('demo', { cluster: { paused: true } }))
    await world.settle()
    await world.remove(ClusterKind, 'demo')
    await world.edit(ClusterKind, 'demo', { spec: { paused: false } }).catch(() => undefined)
    await world.settle()
    assert.deepEqual(world.ledger, [])
    assert.equal(world.get(ClusterKind, 'demo'), undefined)
  })
})

describe('deleting a part directly', () => {
  for (const kind of [CAPTControlPlane, CAPTCluster])
    it(`holds ${kind.kind} and explains itself`, async () => {
      const world = await ready()
      await world.remove(kind, 'demo')
      await world.settle()
      await world.clock.advance(6000)
      await world.settle()
      const condition = world.condition(kind, 'demo', 'Deleting')
      assert.equal(condition?.reason, 'DeletedDirectly')
      assert.match(condition?.message ?? '', /nothing is destroyed\. Delete Cluster demo/)
      assert.deepEqual(done(world), [])
    })

  it('destroys it when asked to by name', async () => {
    const world = await ready()
    await world.remove(CAPTControlPlane, 'demo')
    await world.edit(CAPTControlPlane, 'demo', {
      metadata: { annotations: { 'capt.appthrust.com/confirm-delete': 'demo' } },
    })
    await world.settle()
    assert.deepEqual(done(world), ['destroy demo-eks-controlplane-apply'])
    assert.equal(world.get(CAPTControlPlane, 'demo'), undefined)
  })
})

describe('a paused cluster', () => {
  it('starts nothing, keeps its word about Ready, and goes on when it is unpaused', async () => {
    const world = await ready()
    await world.edit(ClusterKind, 'demo', { spec: { paused: true } })
    await world.settle()
    for (const kind of [CAPTCluster, CAPTControlPlane]) {
      assert.equal(world.condition(kind, 'demo', 'Paused')?.status, 'True')
      assert.equal(world.condition(kind, 'demo', 'Ready')?.status, 'True')
    }
    await world.edit(CAPTControlPlane, 'demo', { spec: { version: '1.35' } })
    await world.settle()
    assert.deepEqual(done(world), [])
    await world.edit(ClusterKind, 'demo', { spec: { paused: false } })
    await world.settle()
    assert.deepEqual(done(world), ['apply demo-eks-controlplane-apply'])
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Paused')?.status, 'False')
  })

  it('is paused by the annotation on one part alone', async () => {
    const world = await ready()
    await world.edit(CAPTCluster, 'demo', { metadata: { annotations: { [PAUSED_ANNOTATION]: 'false' } } })
    await world.edit(CAPTCluster, 'demo', { spec: { additionalTags: { Team: 'a' } } })
    await world.settle()
    assert.deepEqual(done(world), [])
    assert.match(world.condition(CAPTCluster, 'demo', 'Paused')?.message ?? '', /annotation/)
  })

  it('is not deleted', async () => {
    const world = await ready()
    await world.edit(ClusterKind, 'demo', { spec: { paused: true } })
    for (const kind of [CAPTControlPlane, CAPTCluster]) await world.remove(kind, 'demo')
    await world.settle()
    assert.deepEqual(done(world), [])
    assert.ok(world.get(CAPTCluster, 'demo'))
  })

  it('lets its kubeconfig be refreshed all the same', async () => {
    const world = await ready()
    await world.edit(ClusterKind, 'demo', { spec: { paused: true } })
    await world.settle()
    const version = () => world.get(SecretKind, 'demo-kubeconfig')?.metadata.resourceVersion
    const before = version()
    await world.clock.advance(11 * 60_000)
    await world.settle()
    assert.notEqual(version(), before)
  })
})

describe('a move', () => {
  it('is blocked by the apply as soon as a run is asked for; an older mark on the control plane goes, also under pause', async () => {
    const world = await ready()
    const apply = 'demo-eks-controlplane-apply'
    const blocks = (kind: typeof CAPTControlPlane | typeof WorkspaceTemplateApply, name: string) =>
      BLOCK_MOVE_ANNOTATION in (world.get(kind, name)?.metadata.annotations ?? {})
    assert.equal(blocks(WorkspaceTemplateApply, apply), false)
    world.held.add(apply)
    await world.edit(CAPTControlPlane, 'demo', {
      metadata: { annotations: { [BLOCK_MOVE_ANNOTATION]: 'true' } },
      spec: { version: '1.35' },
    })
    await world.settle()
    assert.equal(blocks(WorkspaceTemplateApply, apply), true)
    assert.equal(blocks(CAPTControlPlane, 'demo'), true, 'a run is on')
    await world.edit(ClusterKind, 'demo', { spec: { paused: true } })
    await world.settle()
    world.held.clear()
    await world.settle()
    assert.equal(blocks(CAPTControlPlane, 'demo'), false)
  })

  it('away from here destroys nothing', async () => {
    const world = await ready()
    const annotations = { [DELETE_FOR_MOVE_ANNOTATION]: '' }
    for (const [kind, name] of [
      [WorkspaceTemplateApply, 'demo-vpc'],
      [WorkspaceTemplateApply, 'demo-eks-controlplane-apply'],
      [CAPTControlPlane, 'demo'],
      [CAPTCluster, 'demo'],
      [ClusterKind, 'demo'],
    ] as const) {
      await world.edit(kind, name, { metadata: { annotations } })
      await world.remove(kind, name)
    }
    await world.settle()
    assert.deepEqual(
      done(world).filter((line) => line.startsWith('destroy')),
      [],
    )
    for (const kind of [ClusterKind, CAPTCluster, CAPTControlPlane]) assert.equal(world.get(kind, 'demo'), undefined)
  })

  it('finds every object in the owner graph of the Cluster', async () => {
    const world = await ready()
    const cluster = world.get(ClusterKind, 'demo')!
    const chain = new Set([cluster.metadata.uid])
    const parts = [CAPTCluster, CAPTControlPlane, WorkspaceTemplateApply, SecretKind].flatMap((kind) =>
      world.cluster.storage.list(kind),
    )
    const ours = parts.filter(({ metadata }) => !metadata.name.endsWith('-connection'))
    for (let depth = 0; depth < 3; depth++)
      for (const { metadata } of ours)
        if (metadata.ownerReferences?.some(({ uid }) => chain.has(uid))) chain.add(metadata.uid)
    assert.deepEqual(
      ours.filter(({ metadata }) => !chain.has(metadata.uid)).map(({ metadata }) => metadata.name),
      [],
    )
    for (const { metadata } of ours) assert.equal(metadata.labels?.[CLUSTER_NAME_LABEL], 'demo', metadata.name)
  })
})
