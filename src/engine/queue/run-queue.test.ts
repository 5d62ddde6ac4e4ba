import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { manualClock } from '#testing'
import type { StartRequest } from '../port.ts'
import { newRecord, type Run } from '../record/record.ts'
import { defaultLimits, type Limits } from './limits.ts'
import { placeOf } from './place.ts'
import { type QueuedRun, RunQueue } from './run-queue.ts'
import { LONG_MS } from './schedule.ts'

const keyOf = (id: string) => ({ namespace: id.split('/')[0]!, name: id.split('/')[1]! })

function request(id: string): StartRequest {
  const owner = { ...keyOf(id), uid: id, apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
  return { owner, verb: 'apply', hash: 'h', timeoutSeconds: 60 }
}

function open(limits: Partial<Limits> = {}) {
  const clock = manualClock()
  const queue = new RunQueue({ ...defaultLimits('local', 1), ...limits }, clock)
  const begun: string[] = []
  const begin = async ({ request: { owner } }: QueuedRun) => void begun.push(`${owner.namespace}/${owner.name}`)
  const add = (id: string) => {
    const run = { id: `run of ${id}` } as Run
    queue.add({ request: request(id), written: { record: { ...newRecord('w'), run }, version: '1' } }, begin)
  }
  const enter = (id: string) => queue.enter(placeOf(request(id), undefined))
  const join = (id: string) => {
    if (enter(id)) begun.push(id)
    else add(id)
  }
  return { clock, queue, begun, enter, add, join }
}

describe('The queue of runs', () => {
  it('begins the eldest of the next namespace when a run ends, and forgets one that left', () => {
    const { queue, begun, join } = open()
    for (const id of ['a/1', 'a/2', 'a/3', 'b/1', 'c/1']) join(id)
    queue.remove(keyOf('b/1'))
    for (const id of ['a/1', 'c/1', 'a/2', 'a/3']) queue.leave(keyOf(id))
    assert.deepEqual(begun, ['a/1', 'c/1', 'a/2', 'a/3'])
  })

  it('gives a slot that is free to nobody while others wait longer for it', () => {
    const { queue, begun, join, enter, add } = open()
    join('a/1')
    assert.equal(enter('a/2'), false, 'its record is being written')
    queue.leave(keyOf('a/1'))
    join('a/3')
    assert.deepEqual(begun, ['a/1'], 'the slot belongs to the run that came first')
    add('a/2')
    assert.deepEqual(begun, ['a/1', 'a/2'])
    assert.equal(queue.runIdOf(keyOf('a/3')), 'run of a/3')
  })

  it('frees the slot of a run whose record could not be written', () => {
    const { queue, begun, join, enter } = open()
    join('a/1')
    enter('a/2')
    queue.leave(keyOf('a/2'))
    join('a/3')
    queue.leave(keyOf('a/1'))
    assert.deepEqual(begun, ['a/1', 'a/3'])
  })

  it('starts the next run a minute after one that lasts, and once', async () => {
    const { clock, begun, join } = open({ overtime: 1 })
    for (const id of ['a/1', 'a/2', 'a/3']) join(id)
    await clock.advance(LONG_MS - 1)
    assert.deepEqual(begun, ['a/1'])
    await clock.advance(1)
    assert.deepEqual(begun, ['a/1', 'a/2'])
    await clock.advance(10 * LONG_MS)
    assert.deepEqual(begun, ['a/1', 'a/2'])
  })

  it('reports positions that change seldom, and the reason', () => {
    const { queue, join } = open({ perIdentity: 1 })
    for (let i = 0; i < 60; i++) join(`a/${i}`)
    const position = (i: number) => queue.positionOf(keyOf(`a/${i}`))
    assert.deepEqual(position(1), { position: 1, reason: 'IdentityLimit' })
    assert.deepEqual(
      [2, 3, 6, 12, 59].map((i) => position(i)?.position),
      [2, 5, 10, 20, 100],
    )
    assert.equal(position(0), undefined)
  })

  it('starts nothing after it was cleared', () => {
    const { queue, begun, join } = open()
    join('a/1')
    join('a/2')
    queue.clear()
    queue.leave(keyOf('a/1'))
    assert.deepEqual(begun, ['a/1'])
    assert.equal(queue.has(keyOf('a/2')), false)
  })
})

describe('The place of a run', () => {
  const past = (seconds: number) => ({
    ...newRecord('w'),
    run: { identity: 'a/key' } as Run,
    history: [
      {
        id: '1',
        verb: 'apply' as const,
        phase: 'Succeeded' as const,
        attempt: 1,
        startedAt: '2026-01-01T00:00:00Z',
        finishedAt: new Date(Date.parse('2026-01-01T00:00:00Z') + seconds * 1000).toISOString(),
      },
    ],
  })

  it('is that of a quick run only when the last one of its verb was', () => {
    const isQuick = (seconds: number, verb: 'apply' | 'destroy' = 'apply') =>
      placeOf({ ...request('a/1'), verb }, past(seconds)).isQuick
    assert.deepEqual([isQuick(59), isQuick(60), isQuick(5, 'destroy')], [true, false, false])
    assert.equal(placeOf(request('a/1'), undefined).isQuick, false)
  })

  it('has the identity of its Secrets, or of the run before when the template is gone', () => {
    const workspace = { credentials: [keyOf('a/z'), keyOf('a/b')], secretEnv: [] } as never
    assert.equal(placeOf({ ...request('a/1'), workspace }, undefined).identity, 'a/b+a/z')
    assert.equal(placeOf({ ...request('a/1'), credentials: keyOf('a/k') }, past(1)).identity, 'a/k')
    assert.equal(placeOf(request('a/1'), past(1)).identity, 'a/key')
    assert.equal(placeOf(request('a/1'), undefined).identity, '')
  })
})
