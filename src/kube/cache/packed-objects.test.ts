import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { AnyObject } from '#api'
import type { Projected } from '../port.ts'
import { createPackedObjects } from './packed-objects.ts'
import { createStore } from './store.ts'

type Widget = Projected<AnyObject> & { readonly spec: { readonly size: number; readonly note: string } }

const widget = (name: string, size: number): Widget =>
  ({
    apiVersion: 'v1',
    kind: 'Widget',
    metadata: { namespace: name < 'm' ? 'early' : 'late', name, uid: `uid-${name}`, resourceVersion: String(size + 1) },
    spec: { size, note: `widget ${name} of size ${size} ${'with a long note '.repeat(10)}` },
  }) as Widget
const NAMES = ['a', 'b', 'c', 'x', 'y', 'z']

describe('the packed objects of a store', () => {
  it('return what was stored last, packed meanwhile or not', () => {
    const step = fc.record({
      name: fc.constantFrom(...NAMES),
      does: fc.constantFrom('set', 'setVersion', 'get', 'peek', 'delete'),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const objects = createPackedObjects(2)
        const truth = new Map<string, Widget>()
        for (const [i, { name, does }] of steps.entries()) {
          if (does === 'set') {
            objects.set(name, widget(name, i))
            truth.set(name, widget(name, i))
          } else if (does === 'setVersion') {
            const before = truth.get(name)
            if (!before) continue
            const renewed = { ...before, metadata: { ...before.metadata, resourceVersion: `1${i}` } }
            objects.setVersion(name, renewed)
            truth.set(name, renewed)
          } else if (does === 'delete') {
            objects.delete(name)
            truth.delete(name)
          } else if (does === 'get') assert.deepEqual(objects.get(name), truth.get(name))
          else if (truth.has(name)) assert.deepEqual(objects.peek(name), truth.get(name))
          assert.equal(objects.version(name)?.resourceVersion, truth.get(name)?.metadata.resourceVersion)
        }
        assert.equal(objects.size, truth.size)
        assert.deepEqual(objects.keys().map(objects.peek), [...truth.values()])
      }),
    )
  })

  it('keep the objects read last unpacked, and no others', () => {
    const objects = createPackedObjects(2)
    const [a, b, c] = ['a', 'b', 'c'].map((name) => widget(name, 1)) as [Widget, Widget, Widget]
    objects.set('a', a)
    objects.set('b', b)
    assert.equal(objects.get('a'), a)
    objects.set('c', c)
    assert.equal(objects.peek('a'), a)
    assert.equal(objects.peek('c'), c)
    assert.notEqual(objects.peek('b'), b)
    assert.deepEqual(objects.peek('b'), b)
  })
})

describe('a store with more objects than it keeps unpacked', () => {
  const filled = () => {
    const changes: string[] = []
    const store = createStore(({ type, object, old }) =>
      changes.push(`${type} ${object.metadata.name} ${(old as Widget | undefined)?.spec.size ?? ''}`),
    )
    store.addIndex('parity', (object) => [(object as Widget).spec.size % 2 === 0 ? 'even' : 'odd'])
    const listing = store.beginList()
    for (let i = 0; i < 500; i++) listing.add(widget(`${i < 250 ? 'a' : 'z'}-${i}`, i))
    listing.end('1000')
    return { store, changes }
  }

  it('lists whole objects, by index and by namespace', () => {
    const { store } = filled()
    const found = store.list({ index: 'parity', value: 'odd', namespace: 'late' }) as readonly Widget[]
    assert.equal(found.length, 125)
    assert.ok(found.every((one) => one.spec.size % 2 === 1 && one.spec.size >= 250 && one.spec.note.length > 100))
    assert.equal(store.list().length, 500)
  })

  it('lists keys, by index and by namespace', () => {
    const found = filled().store.keys({ index: 'parity', value: 'odd', namespace: 'late' })
    assert.equal(found.length, 125)
    assert.deepEqual(found[0], { namespace: 'late', name: 'z-251' })
  })

  it('computes a summary once per object and version', () => {
    const { store } = filled()
    let calls = 0
    const sizeOf = (object: AnyObject) => {
      calls++
      return (object as Widget).spec.size
    }
    const query = { index: 'parity', value: 'odd', namespace: 'late' }
    assert.deepEqual(store.summaries(sizeOf, query).slice(0, 2), [251, 253])
    assert.deepEqual(store.summaries(sizeOf).length, 500)
    assert.equal(calls, 500)
    assert.ok(store.observe('MODIFIED', widget('z-251', 2001)))
    assert.equal(calls, 501)
    assert.ok(store.summaries(sizeOf, query).includes(2001))
    assert.equal(calls, 501)
  })

  it('refuses a summary function that is created for each call', () => {
    const { store } = filled()
    const summarize = () => store.summaries((object) => object.metadata.name)
    for (let i = 0; i < 4; i++) assert.equal(summarize().length, 500)
    assert.throws(summarize, /defined once/)
  })

  it('passes the previous object to handlers, packed or not', () => {
    const { store, changes } = filled()
    changes.length = 0
    const moved = { ...widget('a-0', 2000), metadata: { ...widget('a-0', 2000).metadata } }
    assert.ok(store.observe('MODIFIED', moved))
    assert.ok(store.observe('DELETED', widget('a-1', 2001)))
    assert.deepEqual(changes, ['updated a-0 0', 'deleted a-1 1'])
    assert.equal(store.list({ index: 'parity', value: 'odd' }).length, 249)
    assert.equal((store.get({ namespace: 'early', name: 'a-0' }) as Widget).spec.size, 2000)
  })

  it('emits nothing for a new list with the same objects', () => {
    const { store, changes } = filled()
    changes.length = 0
    const listing = store.beginList()
    for (let i = 0; i < 500; i++) listing.add(widget(`${i < 250 ? 'a' : 'z'}-${i}`, i))
    listing.end('1000')
    assert.deepEqual(changes, [])
  })

  it('emits no event for an update that changes the version alone, when asked to', () => {
    const { store, changes } = filled()
    store.ignoreUnchanged()
    changes.length = 0
    const { metadata, ...content } = widget('a-0', 0)
    assert.ok(store.observe('MODIFIED', { ...content, metadata: { ...metadata, resourceVersion: '2000' } } as Widget))
    assert.deepEqual(changes, [])
    assert.equal(store.get({ namespace: 'early', name: 'a-0' })?.metadata.resourceVersion, '2000')
    assert.ok(store.observe('MODIFIED', widget('a-0', 2001)))
    assert.deepEqual(changes, ['updated a-0 0'])
  })
})
