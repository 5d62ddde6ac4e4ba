import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, ConfigMapKind, type KindRef, SecretKind } from '#api'
import { isKubeError } from '#kube'
import { memoryCluster } from './cluster.ts'

const Widget: KindRef = { group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true }
type Widget = AnyObject & { spec?: { size: number }; status?: { phase: string } }
const key = { namespace: 'default', name: 'one' }
const aWidget = (over: Partial<AnyObject['metadata']> = {}): Widget => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { ...key, ...over },
  spec: { size: 1 },
})

describe('the memory cluster', () => {
  it('counts every request in its ledger and leaves out what others do', async () => {
    const { objects, others, requests } = memoryCluster()
    await objects.create(Widget, aWidget())
    await objects.patch(Widget, key, { type: 'merge', body: { status: { phase: 'Up' } } }, { subresource: 'status' })
    await others.get(Widget, key)
    for await (const _ of objects.list(Widget, { namespace: 'default' }));
    assert.deepEqual(requests, [
      { verb: 'create', kind: 'Widget', key: 'default/one' },
      { verb: 'patch', kind: 'Widget', key: 'default/one', subresource: 'status' },
      { verb: 'list', kind: 'Widget', key: 'default' },
    ])
  })

  it('fails the planned request once, and can lose the answer of a write that was done', async () => {
    const cluster = memoryCluster()
    cluster.failNext('create', Widget, 'ServerError')
    await assert.rejects(cluster.objects.create(Widget, aWidget()), (error) => isKubeError(error, 'ServerError'))
    assert.equal(cluster.peek(Widget, key), undefined)

    cluster.failNext('*', '*', 'Unreachable', { carriedOut: true })
    await assert.rejects(cluster.objects.create(Widget, aWidget()), (error) => isKubeError(error, 'Unreachable'))
    assert.ok(cluster.peek(Widget, key))
    await assert.rejects(cluster.objects.create(Widget, aWidget()), (error) => isKubeError(error, 'AlreadyExists'))
  })

  it('keeps what others did from the cache until the watch delivers it, and shows own writes at once', async () => {
    const { objects, others, informers, flush } = memoryCluster({ delivery: 'manual' })
    informers.register(Widget)
    informers.start()
    await informers.synced()
    await others.create(Widget, aWidget({ name: 'theirs' }))
    await objects.create(Widget, aWidget({ name: 'ours' }))
    const names = () => informers.list(Widget).map((widget) => widget.metadata.name)
    assert.deepEqual(names(), ['ours'])
    flush()
    assert.deepEqual(names(), ['ours', 'theirs'])
  })

  it('refuses to let a cached object be changed', async () => {
    const { informers, seed } = memoryCluster()
    seed(Widget, aWidget())
    informers.register(Widget)
    informers.start()
    const cached = informers.get<Widget>(Widget, key)!
    assert.throws(() => Object.assign(cached.spec!, { size: 2 }), TypeError)
  })

  it('deletes dependents after their last owner, and leaves them when that is switched off', async () => {
    for (const garbageCollection of [true, false]) {
      const { objects, peek } = memoryCluster({ garbageCollection })
      const owner = await objects.create(Widget, aWidget())
      const reference = { apiVersion: 'example.com/v1', kind: 'Widget', name: 'one', uid: owner.metadata.uid! }
      await objects.create(Widget, aWidget({ name: 'child', ownerReferences: [reference] }))
      await objects.delete(Widget, key)
      assert.equal(peek(Widget, { ...key, name: 'child' }) === undefined, garbageCollection)
    }
  })

  it('keeps an owner deleted in the foreground until its last blocking dependent has gone', async () => {
    const { objects, peek } = memoryCluster()
    const owner = await objects.create(Widget, aWidget())
    const owners = [
      { apiVersion: 'example.com/v1', kind: 'Widget', name: 'one', uid: owner.metadata.uid!, blockOwnerDeletion: true },
    ]
    const child = { ...key, name: 'child' }
    await objects.create(Widget, aWidget({ name: 'child', ownerReferences: owners, finalizers: ['example.com/hold'] }))
    await objects.delete(Widget, key, { propagation: 'Foreground' })
    assert.ok(peek(Widget, key)?.metadata.deletionTimestamp)
    assert.ok(peek(Widget, child)?.metadata.deletionTimestamp)
    await objects.patch(Widget, child, { type: 'merge', body: { metadata: { finalizers: null } } })
    assert.equal(peek(Widget, child), undefined)
    assert.equal(peek(Widget, key), undefined)
  })

  it('keeps a seeded object as it is, status and deletion included', () => {
    const { seed, peek } = memoryCluster()
    const deletionTimestamp = '2026-01-01T00:00:00Z'
    seed(Widget, { ...aWidget({ deletionTimestamp, finalizers: ['example.com/hold'] }), status: { phase: 'Up' } })
    assert.partialDeepStrictEqual(peek<Widget>(Widget, key), {
      metadata: { deletionTimestamp },
      status: { phase: 'Up' },
    })
  })

  it('turns the stringData of a Secret into data', async () => {
    const { objects } = memoryCluster()
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: key, stringData: { user: 'admin' } }
    assert.partialDeepStrictEqual(await objects.create(SecretKind, secret), { data: { user: 'YWRtaW4=' } })
  })

  it('answers KindNotServed for a kind that is not served', async () => {
    const { objects, storage } = memoryCluster()
    storage.unserve(ConfigMapKind)
    await assert.rejects(objects.get(ConfigMapKind, key), (error) => isKubeError(error, 'KindNotServed'))
  })
})
