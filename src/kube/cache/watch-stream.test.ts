import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import type { AnyObject } from '#api'
import { systemClock } from '#lib'
import type { Change } from '../port.ts'
import { createProjection } from './projection.ts'
import { createStore } from './store.ts'
import { readWatch } from './watch-stream.ts'

const KEY = { namespace: 'default', name: 'a' }

function widget(version: number, more: Readonly<Record<string, unknown>> = {}, uid = 'one'): AnyObject {
  const metadata = { ...more, name: 'a', namespace: 'default', resourceVersion: String(version), uid }
  return { apiVersion: 'v1', kind: 'Widget', metadata } as AnyObject
}

/** Sends these events on a watch, after a write that was answered with version 5. */
async function watch(...events: readonly [string, AnyObject][]) {
  const changes: Change[] = []
  const store = createStore((change) => changes.push(change))
  store.beginList().end('1')
  const project = createProjection(undefined)
  store.written(project(widget(5)))
  changes.length = 0
  const response = new PassThrough()
  let received = 0
  const onEvent = () => void received++
  const watching = { store, project, clock: systemClock, silenceMs: 60_000, onEvent }
  const end = readWatch(response as unknown as IncomingMessage, watching)
  for (const [type, object] of events) response.write(`${JSON.stringify({ type, object })}\n`)
  response.end()
  return { end: await end, store, changes: changes.map(({ type }) => type), received }
}

describe('a watch event that repeats the answer to a write', () => {
  it('notifies nobody, and counts as an event', async () => {
    const { store, changes, received, end } = await watch(['MODIFIED', widget(5)])
    assert.deepEqual([changes, received], [[], 1])
    assert.equal(store.progress, '5', 'the next watch goes on after it')
    assert.deepEqual(end, { is: 'closed' })
  })

  it('counts when it has a later version, another object of that name, or a deletion', async () => {
    const later = await watch(['MODIFIED', widget(6, { generation: 2 })])
    assert.equal(later.store.get(KEY)?.metadata.generation, 2)
    assert.deepEqual((await watch(['ADDED', widget(5, {}, 'two')])).changes, ['updated'])
    assert.equal((await watch(['DELETED', widget(5)])).store.get(KEY), undefined)
  })

  it('is ignored once, and its version in an annotation is not taken for it', async () => {
    const annotations = { resourceVersion: '5', uid: 'one' }
    const { store, changes } = await watch(['MODIFIED', widget(5)], ['MODIFIED', widget(7, { annotations })])
    assert.deepEqual(changes, ['updated'])
    assert.equal(store.get(KEY)?.metadata.resourceVersion, '7')
  })
})
