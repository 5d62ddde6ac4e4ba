import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { AnyObject } from '#api'
import type { Projected } from './port.ts'
import { createShelf } from './shelf.ts'
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

describe('the shelf of a store', () => {
  it('gives back what was put there last, packed meanwhile or not', () => {
    const step = fc.record({
      name: fc.constantFrom(...NAMES),
      does: fc.constantFrom('set', 'renew', 'get', 'peek', 'delete'),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const shelf = createShelf(2)
        const truth = new Map<string, Widget>()
        for (const [i, { name, does }] of steps.entries()) {
          if (does === 'set') {
            shelf.set(name, widget(name, i))
            truth.set(name, widget(name, i))
          } else if (does === 'renew') {
            const before = truth.get(name)
            if (!before) continue
            const renewed = { ...before, metadata: { ...before.metadata, resourceVersion: `1${i}` } }
            shelf.renew(name, renewed)
            truth.set(name, renewed)
          } else if (does === 'delete') {
            shelf.delete(name)
            truth.delete(name)
          } else if (does === 'get') assert.deepEqual(shelf.get(name), truth.get(name))
          else if (truth.has(name)) assert.deepEqual(shelf.peek(name), truth.get(name))
          assert.equal(shelf.head(name)?.resourceVersion, truth.get(name)?.metadata.resourceVersion)
        }
        assert.equal(shelf.size, truth.size)
        assert.deepEqual(shelf.keys().map(shelf.peek), [...truth.values()])
      }),
    )
  })

  it('holds few objects as they are: those that were asked for last', () => {
    const shelf = createShelf(2)
    const [a, b, c] = ['a', 'b', 'c'].map((name) => widget(name, 1)) as [Widget, Widget, Widget]
    shelf.set('a', a)
    shelf.set('b', b)
    assert.equal(shelf.get('a'), a)
    shelf.set('c', c)
    assert.equal(shelf.peek('a'), a)
    assert.equal(shelf.peek('c'), c)
    assert.notEqual(shelf.peek('b'), b)
    assert.deepEqual(shelf.peek('b'), b)
  })
})

describe('a store with more objects than are at hand', () => {
  const filled = () => {
    const told: string[] = []
    const store = createStore(({ type, object, old }) =>
      told.push(`${type} ${object.metadata.name} ${(old as Widget | undefined)?.spec.size ?? ''}`),
    )
    store.setBrief(({ apiVersion, kind, metadata: { name, namespace } }) => ({
      apiVersion,
      kind,
      metadata: { name, namespace: namespace! },
    }))
    store.addIndex('parity', (object) => [(object as Widget).spec.size % 2 === 0 ? 'even' : 'odd'])
    const listing = store.beginList()
    for (let i = 0; i < 500; i++) listing.add(widget(`${i < 250 ? 'a' : 'z'}-${i}`, i))
    listing.end('1000')
    return { store, told }
  }

  it('lists whole objects, by index and by namespace', () => {
    const { store } = filled()
    const found = store.list({ index: 'parity', value: 'odd', namespace: 'late' }) as readonly Widget[]
    assert.equal(found.length, 125)
    assert.ok(found.every((one) => one.spec.size % 2 === 1 && one.spec.size >= 250 && one.spec.note.length > 100))
    assert.equal(store.list().length, 500)
  })

  it('lists briefly what controllers agreed on, and nothing else', () => {
    const { store } = filled()
    const found = store.list({ index: 'parity', value: 'odd', namespace: 'late', brief: true })
    assert.equal(found.length, 125)
    assert.deepEqual(found[0], { apiVersion: 'v1', kind: 'Widget', metadata: { name: 'z-251', namespace: 'late' } })
  })

  it('tells handlers what an object was before, however long ago it was packed', () => {
    const { store, told } = filled()
    told.length = 0
    const moved = { ...widget('a-0', 2000), metadata: { ...widget('a-0', 2000).metadata } }
    assert.ok(store.observe('MODIFIED', moved))
    assert.ok(store.observe('DELETED', widget('a-1', 2001)))
    assert.deepEqual(told, ['updated a-0 0', 'deleted a-1 1'])
    assert.equal(store.list({ index: 'parity', value: 'odd' }).length, 249)
    assert.equal((store.get({ namespace: 'early', name: 'a-0' }) as Widget).spec.size, 2000)
  })

  it('tells nothing of a new list that has the same objects', () => {
    const { store, told } = filled()
    told.length = 0
    const listing = store.beginList()
    for (let i = 0; i < 500; i++) listing.add(widget(`${i < 250 ? 'a' : 'z'}-${i}`, i))
    listing.end('1000')
    assert.deepEqual(told, [])
  })
  it('that was asked to tell of content alone keeps a new version of an old content and says nothing of it', () => {
    const { store, told } = filled()
    store.tellContentAlone()
    told.length = 0
    const { metadata, ...content } = widget('a-0', 0)
    assert.ok(store.observe('MODIFIED', { ...content, metadata: { ...metadata, resourceVersion: '2000' } } as Widget))
    assert.deepEqual(told, [])
    assert.equal(store.get({ namespace: 'early', name: 'a-0' })?.metadata.resourceVersion, '2000')
    assert.ok(store.observe('MODIFIED', widget('a-0', 2001)))
    assert.deepEqual(told, ['updated a-0 0'])
  })
})
