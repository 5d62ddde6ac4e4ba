// A manager may die after any write, and any request may fail: the next one ends where an undisturbed one would have
// ended, with the same runs and nothing twice.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { CAPTCluster, CAPTControlPlane, type KindRef, SecretKind, WorkspaceTemplateApply } from '#api'
import type { MemoryVerb } from '#testing'
import { aCluster, applyAll, ClusterKind, type ClusterWorld, clusterWorld } from '../../support/cluster/world.ts'

const worlds: ClusterWorld[] = []
after(() => Promise.all(worlds.map((world) => world.stop())))

async function begin(options: Parameters<typeof clusterWorld>[0] = {}): Promise<ClusterWorld> {
  const world = await clusterWorld(options)
  worlds.push(world)
  return world
}

const runsOf = (world: ClusterWorld) => world.ledger.map(({ verb, name }) => `${verb} ${name}`)

/** Every write after the given one fails: to the cluster, the manager is dead. */
function dieAfter(world: ClusterWorld, writes: number): void {
  let left = writes
  const { objects } = world.cluster
  for (const verb of ['create', 'patch', 'apply', 'delete'] as const) {
    const real = objects[verb].bind(objects) as (...args: unknown[]) => Promise<unknown>
    Object.assign(objects, {
      [verb]: (...args: unknown[]) => (left-- > 0 ? real(...args) : Promise.reject(new Error('the manager is dead'))),
    })
  }
}

async function restartManager(dead: ClusterWorld): Promise<ClusterWorld> {
  dead.stopControllers()
  const next = await begin({ cluster: dead.cluster, clock: dead.clock })
  await next.settle()
  return next
}

describe('a manager that dies', () => {
  for (const writes of [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20])
    it(`after ${writes} writes of a creation is replaced by one that ends it, with no run twice`, async () => {
      const first = await begin()
      dieAfter(first, writes)
      await applyAll(first, aCluster())
      await first.settle()
      const second = await restartManager(first)
      assert.equal(second.condition(ClusterKind, 'demo', 'Available')?.status, 'True')
      assert.deepEqual([...runsOf(first), ...runsOf(second)], ['apply demo-vpc', 'apply demo-eks-controlplane-apply'])
    })

  for (const writes of [0, 1, 2, 3, 4, 5, 6, 8])
    it(`after ${writes} writes of a deletion is replaced by one that ends it`, async () => {
      const first = await begin()
      await applyAll(first, aCluster('demo', { infra: { retainVpcOnDelete: true } }))
      await first.settle()
      first.ledger.length = 0
      dieAfter(first, writes)
      await first.remove(ClusterKind, 'demo')
      await first.settle()
      const second = await restartManager(first)
      assert.equal(second.get(ClusterKind, 'demo'), undefined)
      assert.deepEqual([...runsOf(first), ...runsOf(second)], ['destroy demo-eks-controlplane-apply'])
      assert.ok(second.get(WorkspaceTemplateApply, 'demo-vpc'))
    })
})

describe('requests that fail', () => {
  it('change nothing about where it ends', async () => {
    const verbs: readonly MemoryVerb[] = ['get', 'patch', 'apply', 'create']
    const reasons = ['Conflict', 'ServerError', 'Unreachable', 'TooManyRequests', 'NotFound'] as const
    const fault = fc.record({
      verb: fc.constantFrom(...verbs),
      reason: fc.constantFrom(...reasons),
      carriedOut: fc.boolean(),
      kind: fc.constantFrom<KindRef | '*'>('*', CAPTCluster, CAPTControlPlane, WorkspaceTemplateApply, SecretKind),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { maxLength: 8 }), async (faults) => {
        const world = await clusterWorld()
        try {
          for (const { verb, reason, carriedOut, kind } of faults)
            world.cluster.failNext(verb, kind, reason, { carriedOut })
          await applyAll(world, aCluster())
          for (let minute = 0; minute < 12; minute++) {
            await world.settle()
            await world.clock.advance(30_000)
          }
          await world.settle()
          assert.equal(world.condition(ClusterKind, 'demo', 'Available')?.status, 'True')
          assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.status, 'True')
          assert.deepEqual(runsOf(world), ['apply demo-vpc', 'apply demo-eks-controlplane-apply'])
        } finally {
          await world.stop()
        }
      }),
      { numRuns: 15 },
    )
  })
})

describe('what others take away', () => {
  it('comes back: finalizers, owner references and labels', async () => {
    const world = await begin()
    await applyAll(world, aCluster())
    await world.settle()
    for (const kind of [CAPTCluster, CAPTControlPlane])
      await world.edit(kind, 'demo', { metadata: { finalizers: [], ownerReferences: [], labels: null } })
    for (const name of ['demo-vpc', 'demo-eks-controlplane-apply'])
      await world.edit(WorkspaceTemplateApply, name, { metadata: { ownerReferences: [], labels: null } })
    await world.settle()
    for (const kind of [CAPTCluster, CAPTControlPlane]) {
      const { metadata } = world.get(kind, 'demo')!
      assert.equal(metadata.finalizers?.length, 1, kind.kind)
      assert.equal(metadata.ownerReferences?.[0]?.kind, 'Cluster')
      assert.equal(metadata.labels?.['cluster.x-k8s.io/cluster-name'], 'demo')
    }
    for (const name of ['demo-vpc', 'demo-eks-controlplane-apply']) {
      const { metadata } = world.get(WorkspaceTemplateApply, name)!
      assert.equal(metadata.ownerReferences?.length, 1, name)
      assert.equal(metadata.labels?.['cluster.x-k8s.io/cluster-name'], 'demo')
    }
    assert.deepEqual(runsOf(world), ['apply demo-vpc', 'apply demo-eks-controlplane-apply'])
  })

  it('comes back when a person deletes a run’s request: it is made again', async () => {
    const world = await begin()
    await applyAll(world, aCluster())
    await world.settle()
    await world.remove(WorkspaceTemplateApply, 'demo-eks-controlplane-apply')
    await world.settle()
    assert.deepEqual(runsOf(world).slice(2), [
      'destroy demo-eks-controlplane-apply',
      'apply demo-eks-controlplane-apply',
    ])
    assert.equal(world.condition(ClusterKind, 'demo', 'Available')?.status, 'True')
  })
})
