import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { items, type Loose, MERGE, manualClock, type RawApi, rawApi, TABLE } from '#testing'
import { type Started, startInTempFolder } from './started.ts'

const CONFIGS = '/api/v1/namespaces/default/configmaps'
const config = (name: string, over: object = {}) => ({ metadata: { name }, ...over })
const versionOf = (body: Loose) => `${body['metadata']?.['resourceVersion']}`

describe('lists and watches', () => {
  const clock = manualClock()
  let started: Started
  let api: RawApi
  before(async () => {
    started = await startInTempFolder({ clock, history: { changes: 50, bytes: 1_000_000 } })
    api = rawApi(started.server)
  })
  after(async () => {
    api.close()
    await started.end()
  })
  const inNamespace = async (name: string) => {
    await api.call('POST', '/api/v1/namespaces', { metadata: { name } })
    return `/api/v1/namespaces/${name}/configmaps`
  }
  const put = (path: string, name: string, over: object = {}) => api.call('POST', path, config(name, over))

  it('page through one version, whatever is written between the pages', async () => {
    const path = await inNamespace('paged')
    for (const name of ['a', 'b', 'd', 'e']) await put(path, name)
    const first = await api.call('GET', `${path}?limit=2`)
    assert.deepEqual(
      items(first.body).map((item) => item['metadata']?.['name']),
      ['a', 'b'],
    )
    assert.equal(first.body['metadata']?.['remainingItemCount'], 2)
    await put(path, 'c')
    await api.call('PATCH', `${path}/d`, { data: { late: 'yes' } }, { type: MERGE })
    await api.call('DELETE', `${path}/e`)
    const token = encodeURIComponent(`${first.body['metadata']?.['continue']}`)
    const second = await api.call('GET', `${path}?limit=2&continue=${token}`)
    assert.deepEqual(
      items(second.body).map((item) => item['metadata']?.['name']),
      ['d', 'e'],
    )
    assert.equal(items(second.body)[0]?.['data'], undefined)
    assert.equal(versionOf(second.body), versionOf(first.body))
    assert.equal(second.body['metadata']?.['continue'], undefined)
  })

  it('give up a continue token whose version is forgotten, and one that is no token', async () => {
    const path = await inNamespace('forgotten')
    for (const name of ['a', 'b']) await put(path, name)
    const first = await api.call('GET', `${path}?limit=1`)
    for (let i = 0; i < 60; i++) await put(path, `n${i}`)
    const token = encodeURIComponent(`${first.body['metadata']?.['continue']}`)
    const late = await api.call('GET', `${path}?limit=1&continue=${token}`)
    assert.deepEqual([late.code, late.body['reason']], [410, 'Expired'])
    assert.equal((await api.call('GET', `${path}?continue=abc`)).code, 400)
  })

  it('keep the rules of resource versions', async () => {
    const path = await inNamespace('versions')
    const before = versionOf((await put(path, 'a')).body)
    await put(path, 'b')
    const names = async (query: string) => items((await api.call('GET', `${path}?${query}`)).body).length
    assert.equal(await names(''), 2)
    assert.equal(await names('resourceVersion=0'), 2)
    assert.equal(await names(`resourceVersion=${before}`), 2)
    assert.equal(await names(`resourceVersion=${before}&resourceVersionMatch=NotOlderThan`), 2)
    assert.equal(await names(`resourceVersion=${before}&resourceVersionMatch=Exact`), 1)
    const future = await api.call('GET', `${path}?resourceVersion=99999999&resourceVersionMatch=NotOlderThan`)
    assert.deepEqual([future.code, future.body['reason'], future.headers['retry-after']], [504, 'Timeout', '1'])
    assert.equal((await api.call('GET', `${path}?resourceVersionMatch=Exact`)).code, 422)
    assert.equal((await api.call('GET', `${path}?resourceVersion=abc`)).code, 400)
  })

  it('report what happens, in order and with the version of each change', async () => {
    const path = await inNamespace('reported')
    const { body } = await api.call('GET', path)
    const watch = await api.watch(`${path}?watch=1&resourceVersion=${versionOf(body)}`)
    const added = await put(path, 'a')
    await api.call('PATCH', `${path}/a`, { data: { x: '1' } }, { type: MERGE })
    await api.call('DELETE', `${path}/a`)
    await watch.until(3)
    assert.deepEqual(
      watch.events.map((event) => event.type),
      ['ADDED', 'MODIFIED', 'DELETED'],
    )
    assert.equal(versionOf(watch.events[0]!.object), versionOf(added.body))
    const versions = watch.events.map((event) => Number(versionOf(event.object)))
    assert.ok(versions[0]! < versions[1]! && versions[1]! < versions[2]!)
    watch.close()
  })

  it('resume where they stopped, and say Expired when that is too long ago', async () => {
    const path = await inNamespace('resumed')
    const start = versionOf((await put(path, 'a')).body)
    await put(path, 'b')
    await api.call('DELETE', `${path}/a`)
    const watch = await api.watch(`${path}?watch=1&resourceVersion=${start}`)
    await watch.until(2)
    assert.deepEqual(
      watch.events.map((event) => `${event.type} ${event.object['metadata']?.['name']}`),
      ['ADDED b', 'DELETED a'],
    )
    watch.close()
    for (let i = 0; i < 60; i++) await put(path, `n${i}`)
    const late = await api.watch(`${path}?watch=1&resourceVersion=${start}`)
    await late.ended
    assert.equal(late.events[0]?.type, 'ERROR')
    assert.deepEqual([late.events[0]?.object['code'], late.events[0]?.object['reason']], [410, 'Expired'])
  })

  it('begin with what is there when no version is given, and mark the end of it when asked', async () => {
    const path = await inNamespace('initial')
    for (const name of ['a', 'b']) await put(path, name)
    const plain = await api.watch(`${path}?watch=1`)
    await plain.until(2)
    assert.deepEqual(
      plain.events.map((event) => event.type),
      ['ADDED', 'ADDED'],
    )
    plain.close()
    const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
    const streamed = await api.watch(`${path}?${query}`)
    await streamed.until(3)
    assert.deepEqual(
      streamed.events.map((event) => event.type),
      ['ADDED', 'ADDED', 'BOOKMARK'],
    )
    assert.deepEqual(streamed.events[2]?.object['metadata']?.['annotations'], { 'k8s.io/initial-events-end': 'true' })
    await put(path, 'c')
    await streamed.until(4)
    assert.equal(streamed.events[3]?.object['metadata']?.['name'], 'c')
    streamed.close()
    assert.equal((await api.call('GET', `${path}?watch=1&sendInitialEvents=true`)).code, 422)
  })

  it('send a bookmark about every minute, with the version that was reached, and end at their timeout', async () => {
    const path = await inNamespace('bookmarked')
    const { body } = await api.call('GET', path)
    const query = `watch=1&resourceVersion=${versionOf(body)}&allowWatchBookmarks=true&timeoutSeconds=150`
    const watch = await api.watch(`${path}?${query}`)
    const elsewhere = await put(CONFIGS, 'elsewhere')
    await clock.advance(61_000)
    await watch.until(1)
    assert.equal(watch.events[0]?.type, 'BOOKMARK')
    assert.equal(versionOf(watch.events[0]!.object), versionOf(elsewhere.body))
    await clock.advance(100_000)
    await watch.ended
    assert.equal(watch.events.filter((event) => event.type === 'BOOKMARK').length, 2)
  })

  it('forget events an hour after they were last seen', async () => {
    const path = '/api/v1/namespaces/default/events'
    const event = (name: string, over: object) => ({
      metadata: { name },
      involvedObject: { kind: 'ConfigMap', name: 'x', namespace: 'default' },
      reason: 'R',
      type: 'Normal',
      ...over,
    })
    await api.call('POST', path, event('old', {}))
    const soon = new Date(clock.now() + 30 * 60_000).toISOString()
    await api.call('POST', path, event('repeated', { lastTimestamp: soon }))
    await clock.advance(70 * 60_000)
    const names = async () => items((await api.call('GET', path)).body).map((item) => item['metadata']?.['name'])
    assert.deepEqual(await names(), ['repeated'])
    await clock.advance(60 * 60_000)
    assert.deepEqual(await names(), [])
  })

  it('report objects that enter and leave the selection', async () => {
    const path = await inNamespace('selected')
    const watch = await api.watch(`${path}?watch=1&labelSelector=team%3Da`)
    await put(path, 'x', { metadata: { name: 'x', labels: { team: 'b' } } })
    await api.call('PATCH', `${path}/x`, { metadata: { labels: { team: 'a' } } }, { type: MERGE })
    await api.call('PATCH', `${path}/x`, { data: { k: 'v' } }, { type: MERGE })
    const left = await api.call('PATCH', `${path}/x`, { metadata: { labels: { team: 'b' } } }, { type: MERGE })
    await api.call('DELETE', `${path}/x`)
    await watch.until(3)
    assert.deepEqual(
      watch.events.map((event) => event.type),
      ['ADDED', 'MODIFIED', 'DELETED'],
    )
    assert.equal(versionOf(watch.events[2]!.object), versionOf(left.body))
    watch.close()
    const one = await api.watch(`${path}?watch=1&fieldSelector=metadata.name%3Dy`)
    await put(path, 'z')
    await put(path, 'y')
    await one.until(1)
    assert.deepEqual(
      one.events.map((event) => event.object['metadata']?.['name']),
      ['y'],
    )
    one.close()
  })

  it('come as tables when a person watches, with the headings once', async () => {
    const path = await inNamespace('tabled')
    const watch = await api.watch(`${path}?watch=1`, { accept: TABLE })
    for (const name of ['a', 'b']) await put(path, name)
    await watch.until(2)
    assert.deepEqual(
      watch.events.map((event) => event.object['kind']),
      ['Table', 'Table'],
    )
    assert.deepEqual(
      watch.events.map((event) => event.object['columnDefinitions'] === null),
      [false, true],
    )
    watch.close()
  })

  it('let a slow reader fall behind without keeping anything for it, and send it back to list', async () => {
    const path = await inNamespace('slow')
    const { body } = await api.call('GET', path)
    const slow = await api.watch(`${path}?watch=1&resourceVersion=${versionOf(body)}`)
    slow.pause()
    const text = 'x'.repeat(400_000)
    for (let i = 0; i < 36; i++) await put(path, `big-${i}`, { data: { text } })
    slow.resume()
    await slow.ended
    const last = slow.events.at(-1)
    assert.deepEqual([last?.type, last?.object['code']], ['ERROR', 410])
    assert.ok(slow.events.length < 37, 'it did not get everything')
    const names = slow.events.slice(0, -1).map((event) => event.object['metadata']?.['name'])
    assert.deepEqual(
      names,
      names.map((_, i) => `big-${i}`),
      'what it got was in order and without a gap',
    )
  })
})
