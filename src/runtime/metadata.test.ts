import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AnyObject, Condition, KindRef, ObjectMeta, OwnerReference } from '#api'
import { KubeError, type Objects, type Patch } from '#kube'
import { addFinalizer, removeFinalizer } from './finalizers.ts'
import { controllerOf, findOwner, isOwnedBy, ownerReference, restoreOwner, withOwner } from './owners.ts'
import { mergeConditions } from './status/conditions.ts'
import { hasSameFilter, watchFilter } from './watch-filter.ts'

const WidgetKind: KindRef = { group: 'test', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true }
const aWidget = (metadata: Partial<ObjectMeta> = {}): AnyObject => ({
  apiVersion: 'test/v1',
  kind: 'Widget',
  metadata: { namespace: 'default', name: 'w', uid: 'u1', resourceVersion: '5', ...metadata },
})

function recorder(fault?: KubeError) {
  const bodies: unknown[] = []
  const patch = async (_kind: KindRef, _key: unknown, { body }: Patch) => {
    bodies.push(body)
    if (fault) throw fault
  }
  return { bodies, objects: { patch } as unknown as Objects }
}

describe('finalizers', () => {
  it('are added beside those of others, on the version that was seen', async () => {
    const { objects, bodies } = recorder()
    await addFinalizer(objects, WidgetKind, aWidget({ finalizers: ['other'] }), 'capt')
    assert.deepEqual(bodies, [{ metadata: { resourceVersion: '5', finalizers: ['other', 'capt'] } }])
  })

  it('are removed without touching those of others', async () => {
    const { objects, bodies } = recorder()
    await removeFinalizer(objects, WidgetKind, aWidget({ finalizers: ['capt', 'other'] }), 'capt')
    assert.deepEqual(bodies, [{ metadata: { resourceVersion: '5', finalizers: ['other'] } }])
  })

  it('are not written when nothing would change', async () => {
    const { objects, bodies } = recorder()
    await addFinalizer(objects, WidgetKind, aWidget({ finalizers: ['capt'] }), 'capt')
    await removeFinalizer(objects, WidgetKind, aWidget(), 'capt')
    assert.deepEqual(bodies, [])
  })

  it('may be removed from an object that is gone, but not from one that moved on', async () => {
    const widget = aWidget({ finalizers: ['capt'] })
    await removeFinalizer(recorder(new KubeError('NotFound', 'gone')).objects, WidgetKind, widget, 'capt')
    const conflict = recorder(new KubeError('Conflict', 'moved on')).objects
    await assert.rejects(removeFinalizer(conflict, WidgetKind, widget, 'capt'), { reason: 'Conflict' })
  })
})

describe('owners', () => {
  const cluster = (over: Partial<OwnerReference> = {}): OwnerReference => ({
    apiVersion: 'cluster.x-k8s.io/v1beta1',
    kind: 'Cluster',
    name: 'demo',
    uid: 'c1',
    ...over,
  })

  it('are found by group and kind, whatever the version', () => {
    const foreign = cluster({ apiVersion: 'other/v1', uid: 'x' })
    const widget = aWidget({ ownerReferences: [foreign, cluster({ apiVersion: 'cluster.x-k8s.io/v1beta2' })] })
    assert.equal(findOwner(widget, { group: 'cluster.x-k8s.io', kind: 'Cluster' })?.uid, 'c1')
    assert.equal(findOwner(widget, { group: '', kind: 'Cluster' }), undefined)
  })

  it('are written with uid, and refused without', () => {
    assert.deepEqual(ownerReference(aWidget(), { controller: true, blockOwnerDeletion: true }), {
      apiVersion: 'test/v1',
      kind: 'Widget',
      name: 'w',
      uid: 'u1',
      controller: true,
      blockOwnerDeletion: true,
    })
    assert.throws(() => ownerReference(aWidget({ uid: undefined })), { code: 'CAPT_OWNER_WITHOUT_UID' })
  })

  it('know which of them controls the object', () => {
    const widget = aWidget({ ownerReferences: [cluster(), cluster({ uid: 'c2', controller: true })] })
    assert.equal(controllerOf(widget)?.uid, 'c2')
    assert.equal(isOwnedBy(widget, aWidget({ uid: 'c2' })), true)
    assert.equal(isOwnedBy(widget, aWidget({ uid: 'c3' })), false)
  })

  it('take the place of an earlier object of the same name, and leave others alone', () => {
    const other = cluster({ name: 'other', uid: 'o1' })
    assert.deepEqual(withOwner([cluster({ uid: 'dead' }), other], cluster()), [other, cluster()])
  })

  it('are put back when lost, and not written when present', async () => {
    const { objects, bodies } = recorder()
    await restoreOwner(objects, WidgetKind, aWidget({ ownerReferences: [cluster()] }), cluster())
    assert.deepEqual(bodies, [])
    await restoreOwner(objects, WidgetKind, aWidget(), cluster())
    assert.deepEqual(bodies, [{ metadata: { resourceVersion: '5', ownerReferences: [cluster()] } }])
  })
})

describe('conditions', () => {
  const old: Condition = {
    type: 'A',
    status: 'False',
    reason: 'Old',
    message: 'old',
    lastTransitionTime: '2020-01-01T00:00:00Z',
    observedGeneration: 1,
  }
  const merge = (draft: Partial<Condition>, removed: string[] = []) =>
    mergeConditions([old, { ...old, type: 'B' }], {
      drafts: [{ type: 'A', status: 'False', reason: 'New', message: 'new', ...draft }],
      removed,
      nowMs: Date.UTC(2026, 0, 1),
      generation: 2,
    })

  it('move their time only with their status', () => {
    assert.equal(merge({})[0]?.lastTransitionTime, '2020-01-01T00:00:00Z')
    assert.equal(merge({ status: 'True' })[0]?.lastTransitionTime, '2026-01-01T00:00:00Z')
  })

  it('keep their order, stay without a draft, and go when removed', () => {
    assert.deepEqual(merge({})[1], { ...old, type: 'B' })
    assert.deepEqual(
      merge({}, ['B']).map(({ type }) => type),
      ['A'],
    )
  })

  it('never grow beyond what the API accepts', () => {
    assert.equal(merge({ message: 'x'.repeat(40_000) })[0]?.message.length, 32_768)
  })
})

describe('the watch filter', () => {
  const labelled = aWidget({ labels: { 'cluster.x-k8s.io/watch-filter': 'blue' } })

  const none = () => undefined
  it('accepts what belongs to a Cluster with its value, unless the object has a label of its own', () => {
    const clusters: Readonly<Record<string, string>> = { 'default/b': 'blue', 'default/g': 'green' }
    const blue = watchFilter('blue', ({ namespace, name }) => {
      const value = clusters[`${namespace}/${name}`]
      return value === undefined ? undefined : { metadata: { labels: { 'cluster.x-k8s.io/watch-filter': value } } }
    })
    const child = (cluster: string, labels: object = {}) =>
      aWidget({ labels: { 'cluster.x-k8s.io/cluster-name': cluster, ...labels } })
    assert.deepEqual([child('b'), child('g'), child('gone')].map(blue), [true, false, false])
    assert.equal(blue(child('b', { 'cluster.x-k8s.io/watch-filter': 'green' })), false)
    assert.equal(blue(child('g', { 'cluster.x-k8s.io/watch-filter': 'blue' })), true)
  })

  it('accepts only objects with its value', () => {
    assert.deepEqual([labelled, aWidget()].map(watchFilter('blue', none)), [true, false])
    assert.deepEqual([labelled, aWidget()].map(watchFilter('green', none)), [false, false])
  })

  it('knows when an object went to another manager', () => {
    const green = aWidget({ labels: { 'cluster.x-k8s.io/watch-filter': 'green' } })
    assert.deepEqual([hasSameFilter(labelled, green), hasSameFilter(aWidget(), labelled)], [false, false])
    assert.deepEqual([hasSameFilter(labelled, labelled), hasSameFilter(aWidget(), aWidget())], [true, true])
  })

  it('lets everything through when there is none', () => {
    assert.deepEqual([labelled, aWidget()].map(watchFilter(undefined, none)), [true, true])
  })
})
