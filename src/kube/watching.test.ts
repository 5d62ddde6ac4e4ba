import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import type { AnyObject } from '#api'
import { systemClock } from '#lib'
import { createProjection } from './projection.ts'
import { createStore } from './store.ts'
import { readWatch } from './watching.ts'

const KEY = { namespace: 'default', name: 'a' }

function widget(version: number, more: Readonly<Record<string, unknown>> = {}, uid = 'one'): AnyObject {
  // In the order of an API server, which sorts the names of fields.
  const metadata = { ...more, name: 'a', namespace: 'default', resourceVersion: String(version), uid }
  return { apiVersion: 'v1', kind: 'Widget', metadata } as AnyObject
}

/** Tells a watch these events and counts those that were read. */
async function watch(before: (store: ReturnType<typeof createStore>) => void, events: readonly [string, AnyObject][]) {
  const store = createStore(() => undefined)
  store.beginList().end('1')
  before(store)
  let read = 0
  const project = (object: AnyObject) => {
    read++
    return createProjection(undefined)(object)
  }
  const response = new PassThrough()
  let heard = 0
  const onEvent = () => void heard++
  const watching = { store, project, clock: systemClock, silenceMs: 60_000, onEvent }
  const end = readWatch(response as unknown as IncomingMessage, watching)
  for (const [type, object] of events) response.write(`${JSON.stringify({ type, object })}\n`)
  response.end()
  return { end: await end, store, read, heard }
}

const answered = (version: number) => (store: ReturnType<typeof createStore>) =>
  store.written(createProjection(undefined)(widget(version)))

describe('a watch that repeats what a write was answered with', () => {
  it('is not read again, and counts as heard', async () => {
    const { store, read, heard, end } = await watch(answered(5), [['MODIFIED', widget(5)]])
    assert.equal(read, 0)
    assert.equal(heard, 1)
    assert.equal(store.progress, '5', 'the next watch goes on after it')
    assert.deepEqual(end, { is: 'closed' })
  })

  it('is read when it tells of a later version, of another object of that name, or of the end', async () => {
    const later = await watch(answered(5), [['MODIFIED', widget(6, { generation: 2 })]])
    assert.equal(later.store.get(KEY)?.metadata.generation, 2)
    const other = await watch(answered(5), [['ADDED', widget(5, {}, 'two')]])
    assert.equal(other.read, 1)
    const gone = await watch(answered(5), [['DELETED', widget(5)]])
    assert.equal(gone.store.get(KEY), undefined)
  })

  it('is heard once: what spells a version in another place is read', async () => {
    const annotations = { resourceVersion: '5', uid: 'one' }
    const { store, read } = await watch(answered(5), [
      ['MODIFIED', widget(5)],
      ['MODIFIED', widget(7, { annotations })],
    ])
    assert.equal(read, 1)
    assert.equal(store.get(KEY)?.metadata.resourceVersion, '7')
  })

  it('is read when the server spells it in another order', async () => {
    const { metadata, ...rest } = widget(5)
    const { uid, ...more } = metadata
    const { read, store } = await watch(answered(5), [
      ['MODIFIED', { ...rest, metadata: { uid, ...more } } as AnyObject],
    ])
    assert.equal(read, 1)
    assert.equal(store.progress, '5')
  })
})
