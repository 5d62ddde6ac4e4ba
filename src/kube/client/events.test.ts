import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, EventKind } from '#api'
import { manualClock, memoryCluster } from '#testing'
import { createEvents, type EventsOptions } from './events.ts'

interface Event extends AnyObject {
  readonly note: string
  readonly type: string
  readonly reason: string
  readonly action: string
  readonly eventTime: string
  readonly regarding: { readonly name: string; readonly uid?: string }
  readonly series?: { readonly count: number; readonly lastObservedTime: string }
}

const about = (name = 'demo'): AnyObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { namespace: 'default', name, uid: `uid-of-${name}` },
})

function start(over: Partial<EventsOptions> = {}, cluster = memoryCluster()) {
  const clock = manualClock()
  const events = createEvents(cluster.objects, { controller: 'example.com/test', instance: 'pod-1', clock, ...over })
  const written = () => cluster.storage.list(EventKind) as Event[]
  return { events, written, clock, cluster }
}

const applied = { type: 'Normal', reason: 'Applied', message: 'Applied workspace demo (54 resources)' } as const

describe('events', () => {
  it('are written once, with object and reporter', async () => {
    const { events, written } = start()
    events.emit(about(), applied)
    await events.flush()
    assert.partialDeepStrictEqual(written(), [
      {
        metadata: { namespace: 'default' },
        note: applied.message,
        type: 'Normal',
        reason: 'Applied',
        action: 'Applied',
        eventTime: '2026-01-01T00:00:00.000000Z',
        reportingController: 'example.com/test',
        regarding: { name: 'demo', uid: 'uid-of-demo', kind: 'Widget' },
      },
    ])
  })

  it('that repeat become one series, written now and then', async () => {
    const { events, written, clock, cluster } = start()
    for (let i = 0; i < 49; i++) events.emit(about(), applied)
    await clock.advance(5_000)
    events.emit(about(), applied)
    await clock.advance(24_000)
    assert.equal(cluster.writes.length, 1, 'repeats wait')
    await clock.advance(2_000)
    await events.flush()
    assert.deepEqual(
      written().map(({ series }) => series),
      [{ count: 50, lastObservedTime: '2026-01-01T00:00:05.000000Z' }],
      'the time is that of the last one, not of the write',
    )
    assert.equal(cluster.writes.length, 2)
    assert.deepEqual([...new Set(written().map(({ metadata }) => metadata.name))].length, 1)
  })

  it('of an earlier process are counted on', async () => {
    const { events, cluster } = start()
    events.emit(about(), applied)
    events.emit(about(), applied)
    await events.flush()
    const next = start({}, cluster)
    next.events.emit(about(), applied)
    await next.events.flush()
    assert.deepEqual(
      next.written().map(({ series }) => series?.count),
      [3],
    )
  })

  it('that the server has forgotten are created again', async () => {
    const { events, written, clock, cluster } = start()
    events.emit(about(), applied)
    await events.flush()
    await clock.advance(7_200_000)
    await cluster.others.delete(EventKind, { namespace: 'default', name: written()[0]!.metadata.name })
    events.emit(about(), applied)
    await events.flush()
    assert.deepEqual(
      written().map(({ note, series, eventTime }) => [note, series, eventTime]),
      [[applied.message, undefined, '2026-01-01T02:00:00.000000Z']],
    )
  })

  it('about one object are limited, others are not, and what was dropped is counted', async () => {
    const { events, written, clock } = start({ burst: 3, refillSeconds: 10 })
    const say = (name: string, i: number) => events.emit(about(name), { ...applied, message: `number ${i}` })
    for (let i = 0; i < 10; i++) say('noisy', i)
    say('quiet', 0)
    await events.flush()
    assert.deepEqual([written().length, events.dropped], [4, 7])
    await clock.advance(20_000)
    for (let i = 10; i < 20; i++) say('noisy', i)
    await events.flush()
    assert.deepEqual([written().length, events.dropped], [6, 15])
  })

  it('never throw: a server that refuses them is only counted', async () => {
    const { events, cluster } = start()
    cluster.failNext('create', EventKind, 'NamespaceTerminating')
    events.emit(about(), applied)
    await events.flush()
    assert.equal(events.dropped, 1)
  })

  it('are cut to what an API server takes, at a whole character', async () => {
    const { events, written } = start()
    events.emit(about(), { ...applied, message: '日本語'.repeat(200) })
    await events.flush()
    const [{ note } = { note: '' }] = written()
    assert.ok(Buffer.byteLength(note) <= 1024)
    assert.match(note, /^(日本語)+日?本?…$/)
  })

  it('about a cluster-scoped object go to the namespace default', async () => {
    const { events, written } = start()
    events.emit({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } }, applied)
    await events.flush()
    assert.equal(written()[0]?.metadata.namespace, 'default')
  })
})
