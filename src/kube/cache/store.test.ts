import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { AnyObject } from '#api'
import { createMutex } from '#lib'
import { createLines } from '../client/lines.ts'
import { matchesLabels } from '../labels.ts'
import type { Change, Projected } from '../port.ts'
import { createProjection } from './projection.ts'
import { createStore, type Store } from './store.ts'
import { isNewer } from './versions.ts'

const object = (name: string, version: number, uid = name): Projected<AnyObject> =>
  ({
    apiVersion: 'v1',
    kind: 'Widget',
    metadata: { namespace: 'default', name, uid, resourceVersion: String(version) },
  }) as Projected<AnyObject>

interface Event {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: Projected<AnyObject>
}

const deliver = (store: Store, { type, object: item }: Event): boolean => store.observe(type, item)

describe('the store of an informer', () => {
  // The history of a server: each step creates, changes or deletes one of three names. The answers to our own writes arrive
  // at any time after the write, the watch delivers in order but late, and a list may come between.
  const step = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    isDelete: fc.boolean(),
    /** How many steps later the answer reaches the cache; never for writes of others. */
    answerAfter: fc.option(fc.nat(6)),
    /** How many events the watch delivers after this step. */
    delivers: fc.nat(3),
    lists: fc.boolean(),
  })

  it('converges once the watch has reported everything, in whatever order answers and events came', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const changes: Change[] = []
        const store = createStore((change) => changes.push(change))
        const truth = new Map<string, Projected<AnyObject>>()
        const events: Event[] = []
        const answers: { at: number; run: () => void }[] = []
        let delivered = 0
        let version = 0
        store.beginList().end('0')
        for (const [at, { name, isDelete, answerAfter, delivers, lists }] of steps.entries()) {
          const old = truth.get(name)
          if (isDelete && !old) continue
          version++
          const uid = old?.metadata.uid ?? `${name}-${version}`
          const next = object(name, version, uid)
          if (isDelete) truth.delete(name)
          else truth.set(name, next)
          events.push({ type: isDelete ? 'DELETED' : old ? 'MODIFIED' : 'ADDED', object: next })
          const key = { namespace: 'default', name }
          const run = () => (isDelete ? store.gone(key, uid) : store.written(next))
          if (answerAfter !== null) answers.push({ at: at + answerAfter, run })
          for (const answer of answers.filter((due) => due.at === at)) answer.run()
          for (let i = 0; i < delivers && delivered < events.length; i++, delivered++) {
            assert.ok(deliver(store, events[delivered]!), 'nothing went backwards')
          }
          if (!lists) continue
          const listing = store.beginList()
          for (const item of truth.values()) listing.add(item)
          listing.end(String(version))
          delivered = events.length
        }
        for (const answer of answers.filter((due) => due.at >= steps.length)) answer.run()
        for (; delivered < events.length; delivered++) deliver(store, events[delivered]!)
        const names = (items: Iterable<AnyObject>) =>
          [...items].map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}/${metadata.uid}`).sort()
        assert.deepEqual(names(store.list()), names(truth.values()))
        const replayed = new Map<string, AnyObject>()
        for (const { type, object: item } of changes) {
          if (type === 'deleted') assert.ok(replayed.delete(item.metadata.name), 'only what was there is deleted')
          else replayed.set(item.metadata.name, item)
        }
        assert.deepEqual(names(replayed.values()), names(truth.values()), 'handlers received the same changes')
      }),
      { numRuns: 500 },
    )
  })

  it('keeps an answer that is younger than the list that was under way', () => {
    const store = createStore(() => {})
    const listing = store.beginList()
    store.written(object('young', 12))
    store.written(object('both', 13))
    listing.add(object('both', 5))
    listing.end('10')
    assert.deepEqual(
      store.list().map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`),
      ['young@12', 'both@13'],
    )
  })

  it('does not take back what was deleted while the list was under way', () => {
    const store = createStore(() => {})
    store.beginList().end('1')
    store.written(object('x', 2))
    const listing = store.beginList()
    store.gone({ namespace: 'default', name: 'x' }, 'x')
    listing.add(object('x', 2))
    listing.end('3')
    assert.deepEqual(store.list(), [])
  })

  it('shows an object again that left the selection and came back', () => {
    const store = createStore(() => undefined)
    store.beginList().end('0')
    store.observe('ADDED', object('a', 1))
    store.observe('DELETED', object('a', 2))
    store.written(object('a', 1))
    assert.equal(store.get({ namespace: 'default', name: 'a' }), undefined, 'an answer from before is not believed')
    store.observe('ADDED', object('a', 3))
    assert.equal(store.get({ namespace: 'default', name: 'a' })?.metadata.resourceVersion, '3')
  })

  it('reports when the versions of a server go backwards, and accepts its list', () => {
    const store = createStore(() => {})
    store.beginList().end('100')
    assert.equal(store.observe('ADDED', object('x', 7)), false)
    assert.equal(store.bookmark('99'), false)
    const listing = store.beginList()
    listing.add(object('x', 7))
    listing.end('8')
    assert.equal(store.progress, '8')
    assert.equal(store.list().length, 1)
  })
})

describe('lines', () => {
  it('come out the same however the bytes are cut', () => {
    const text = fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replaceAll('\n', ' ')))
    fc.assert(
      fc.property(text, fc.array(fc.nat(40)), (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
        const seen: string[] = []
        const reader = createLines((line) => seen.push(line.toString('utf8')))
        let from = 0
        for (const cut of cuts) {
          reader.push(bytes.subarray(from, from + cut))
          from += cut
        }
        reader.push(bytes.subarray(from))
        assert.deepEqual(
          seen,
          lines.filter((line) => line !== ''),
        )
        assert.equal(reader.pending, 0)
      }),
      { numRuns: 300 },
    )
  })

  it('that never end are refused', () => {
    const reader = createLines(() => {}, 10)
    assert.throws(() => reader.push(Buffer.from('0123456789a')), RangeError)
  })
})

describe('small rules', () => {
  it('compares versions as numbers, beyond what a double can hold', () => {
    assert.ok(isNewer('10', '9'))
    assert.ok(isNewer('9007199254740993', '9007199254740992'))
    assert.ok(!isNewer('9', '9'))
    assert.ok(isNewer('1', undefined))
    assert.ok(!isNewer('abc', '1'))
  })

  for (const [selector, expected] of [
    ['', true],
    ['app=web', true],
    ['app==web', true],
    ['app!=web', false],
    ['app in (api, web)', true],
    ['app notin (api,web)', false],
    ['tier notin (db)', true],
    ['app', true],
    ['!app', false],
    ['!tier,app=web', true],
    ['app=web,tier', false],
    ['empty=', true],
  ] as const) {
    it(`the selector "${selector}" ${expected ? 'chooses' : 'leaves'} app=web`, () => {
      assert.equal(matchesLabels({ app: 'web', empty: '' }, selector), expected)
    })
  }

  it('a selector that cannot be read is refused by its part', () => {
    assert.throws(() => matchesLabels({}, 'a=b,c in d'), { reason: 'Invalid', message: /"c in d"/ })
  })

  it('a projection drops managedFields and last-applied', () => {
    const project = createProjection(undefined)
    const raw = () =>
      JSON.parse(
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'Widget',
          metadata: {
            name: 'x',
            namespace: 'a-long-namespace-name',
            managedFields: [{ manager: 'kubectl' }],
            annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
          },
          status: { conditions: [{ type: 'ControlPlaneInitialized', status: 'True' }] },
        }),
      ) as AnyObject
    assert.deepEqual(project(raw()), {
      apiVersion: 'v1',
      kind: 'Widget',
      metadata: { name: 'x', namespace: 'a-long-namespace-name' },
      status: { conditions: [{ type: 'ControlPlaneInitialized', status: 'True' }] },
    })
  })

  it('a mutex runs one at a time, in order, and drops those that were aborted', async () => {
    const listMutex = createMutex()
    const log: string[] = []
    const gate = Promise.withResolvers<void>()
    const first = listMutex.run(async () => {
      await gate.promise
      log.push('first')
    })
    const giveUp = new AbortController()
    const second = listMutex.run(async () => log.push('second'), giveUp.signal)
    const third = listMutex.run(async () => log.push('third'))
    giveUp.abort()
    await assert.rejects(second)
    gate.resolve()
    await Promise.all([first, third])
    assert.deepEqual(log, ['first', 'third'])
  })
})
