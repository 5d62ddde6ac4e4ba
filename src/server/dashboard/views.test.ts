import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AnyObject, WorkspaceTemplateApply } from '#api'
import type { Messages } from '#dashboard'
import { anApply, manualClock } from '#testing'
import type { ClusterObjects } from '#view'
import type { Channel } from './channel.ts'
import { sectionsOf } from './cluster-sections.ts'
import { leanApply, leanEvent, type PageEvent } from './projections.ts'
import { followFleet } from './views.ts'

const AT = '2026-01-01T00:00:00Z'
const cluster = (name: string, message = 'it waits', more: object = {}): AnyObject =>
  ({
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata: { namespace: 'default', name, uid: name },
    spec: { infrastructureRef: { apiGroup: 'x', kind: 'DockerCluster', name }, ...more },
    status: {
      conditions: [
        { type: 'Available', status: 'False', reason: 'NotAvailable', message, lastTransitionTime: AT },
        { type: 'InfrastructureReady', status: 'True', reason: 'Ready', message: '', lastTransitionTime: AT },
      ],
    },
  }) as AnyObject
const objects = (object: AnyObject, applies: readonly WorkspaceTemplateApply[] = []): ClusterObjects => ({
  cluster: object,
  applies,
  deliveries: [],
})

function reader() {
  const sent: { name: string; data: unknown }[] = []
  let hasRoom = true
  let onRoom = () => {}
  const channel: Channel = {
    closed: new AbortController().signal,
    hasRoom: () => hasRoom,
    send: <K extends keyof Messages>(name: K, data: Messages[K]) => void sent.push({ name, data }),
    onRoom: (handler) => {
      onRoom = handler
    },
    close: () => undefined,
  }
  const setRoom = (value: boolean) => {
    hasRoom = value
    if (value) onRoom()
  }
  return { channel, sent, setRoom }
}

function fleet() {
  const all = new Map<string, AnyObject>()
  let notify = (_id: string) => {}
  return {
    world: {
      ids: () => [...all.keys()],
      objectsOf: (id: string) => (all.has(id) ? objects(all.get(id)!) : undefined),
      onChange: (handler: (id: string) => void) => {
        notify = handler
        return () => undefined
      },
    },
    set(name: string, message?: string) {
      all.set(`default/${name}`, cluster(name, message))
      notify(`default/${name}`)
    },
    remove(name: string) {
      all.delete(`default/${name}`)
      notify(`default/${name}`)
    },
  }
}

describe('A reader of the fleet', () => {
  it('gets everything first, then only what changed', async () => {
    const clock = manualClock()
    const { channel, sent } = reader()
    const { world, set, remove } = fleet()
    set('a')
    set('b')
    followFleet(world, channel, clock)
    set('a')
    await clock.advance(1_000)
    assert.deepEqual(
      sent.map(({ name }) => name),
      ['fleet'],
      'an update that changes nothing shown is not sent',
    )
    set('a', 'now it is something else')
    remove('b')
    await clock.advance(1_000)
    const { set: rows, gone } = sent[1]!.data as Messages['rows']
    assert.deepEqual([rows.map(({ id }) => id), gone], [['default/a'], ['default/b']])
  })

  it('who is slow gets the newest state once, not every state in between', async () => {
    const clock = manualClock()
    const { channel, sent, setRoom } = reader()
    const { world, set } = fleet()
    set('a')
    followFleet(world, channel, clock)
    setRoom(false)
    for (let i = 0; i < 500; i++) {
      set('a', `state ${i}`)
      await clock.advance(20)
    }
    assert.equal(sent.length, 1, 'nothing is queued')
    setRoom(true)
    await clock.advance(1_000)
    assert.equal(sent.length, 2)
    assert.equal((sent[1]!.data as Messages['rows']).set[0]!.fact, 'state 499')
  })

  it('gets four messages a second at most, however often objects change', async () => {
    const clock = manualClock()
    const { channel, sent } = reader()
    const { world, set } = fleet()
    followFleet(world, channel, clock)
    for (let i = 0; i < 100; i++) {
      set(`c${i % 10}`, `state ${i}`)
      await clock.advance(20)
    }
    assert.ok(sent.length >= 8 && sent.length <= 11, `${sent.length}`)
  })
})

describe('The page of a cluster', () => {
  it('of another provider is made from the conditions of core Cluster API', () => {
    const { tree, row } = sectionsOf(objects(cluster('other')), [])
    assert.partialDeepStrictEqual(row, { state: 'waiting', fact: 'it waits' })
    assert.deepEqual(
      tree.children.map(({ name, state }) => [name, state]),
      [['DockerCluster/other', 'ready']],
    )
  })

  it('does not call a cluster ready whose parts do not exist', () => {
    const ref = { infrastructureRef: { apiGroup: 'x', kind: 'CAPTCluster', name: 'demo' } }
    const { row, stops } = sectionsOf(objects(cluster('demo', 'it waits', ref)), [])
    assert.notEqual(row.state, 'ready')
    assert.match(stops[0]!.stop.what, /CAPTCluster demo, which does not exist/)
    assert.equal(row.stops, 1)
  })

  it('shows the stop of an apply that is not part of the tree, and leaves plans to approve to their own place', () => {
    const failed = anApply({}, { name: 'failed' })
    const waiting = anApply({}, { name: 'waiting' })
    const conditions = [{ type: 'Ready', status: 'False', reason: 'X', message: 'm', lastTransitionTime: AT }]
    const status = (more: object) => ({ status: { conditions, ...more } }) as object
    const { stops, row } = sectionsOf(
      objects(cluster('demo'), [
        { ...failed, ...status({ phase: 'Stalled', lastError: { message: 'no route', kind: 'network' } }) },
        { ...waiting, ...status({ plan: { approval: 'Required', hash: 'h' } }) },
      ] as WorkspaceTemplateApply[]),
      [],
    )
    assert.deepEqual([stops.map(({ name }) => name), row.plans], [['failed'], 1])
  })

  it('shows an event once that capt also wrote on the Cluster, the newest first', () => {
    const event = (uid: string, kind: string, note: string, time: string): PageEvent =>
      ({
        metadata: { name: uid, uid },
        reason: 'Failed',
        type: 'Warning',
        note,
        eventTime: time,
        regarding: { kind, name: 'x' },
      }) as never
    const { events } = sectionsOf(objects(cluster('x')), [
      event('1', 'CAPTCluster', 'it failed', '2026-01-01T00:00:00Z'),
      event('2', 'Cluster', 'CAPTCluster x: it failed', '2026-01-01T00:00:00Z'),
      event('3', 'Cluster', 'something else', '2026-01-02T00:00:00Z'),
    ])
    assert.deepEqual(
      events.map(({ id }) => id),
      ['3', '1'],
    )
  })

  it('is made of objects without variables, values and outputs', () => {
    const apply = anApply({ variables: { a: 'canary-1' }, values: { b: 'canary-2' } })
    const lean = leanApply({ ...apply, status: { outputs: { c: 'canary-3' }, phase: 'Applied' } } as AnyObject)
    assert.doesNotMatch(JSON.stringify(lean), /canary/)
    assert.match(JSON.stringify(lean), /Applied/)
    const event = leanEvent({ ...cluster('x'), note: 'kept', managedFields: 'canary-4' } as never)
    assert.doesNotMatch(JSON.stringify(event), /canary/)
  })
})
