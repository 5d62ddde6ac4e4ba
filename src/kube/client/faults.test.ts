// The fault suite: whatever happens to the server or the way to it, caches come back to the server's truth, and the
// number of requests on the way is bounded. The server counts.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { type AnyObject, ConfigMapKind, type KindRef, keyOf, keyText } from '#api'
import { createMutex } from '#lib'
import { type FaultyServer, type FaultyServerOptions, faultyServer, manualClock } from '#testing'
import { type Connection, type ConnectOptions, connect } from '../connect.ts'
import type { Change, KubeError } from '../port.ts'

const Widget: KindRef = { group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true }
const widget = (name: string, size = 1): AnyObject & { spec: { size: number } } => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { namespace: 'default', name },
  spec: { size },
})

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

async function start(options: Partial<FaultyServerOptions> = {}, connecting: ConnectOptions = {}) {
  const server = await faultyServer({ kinds: [Widget, ConfigMapKind], tls: false, ...options })
  cleanups.push(() => server.close())
  return { server, ...(await follow(server, connecting)) }
}

async function follow(server: FaultyServer, options: ConnectOptions = {}, kinds: readonly KindRef[] = [Widget]) {
  const connection = connect(server.access(), {
    listMutex: createMutex(),
    backoffMs: [2, 20],
    pageSize: 5,
    requestTimeoutMs: 5_000,
    ...options,
  })
  cleanups.push(() => connection.close())
  const changes: Change[] = []
  for (const kind of kinds) {
    connection.informers.register(kind)
    connection.informers.onChange(kind, (change) => changes.push(change))
  }
  connection.informers.start()
  return { ...connection, changes }
}

const texts = (objects: readonly AnyObject[]) =>
  objects.map((object) => `${keyText(keyOf(object))}@${object.metadata.resourceVersion}`).sort()

async function eventually(check: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const until = performance.now() + 10_000; performance.now() < until; ) {
    if (await check()) return
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  assert.fail(`did not happen: ${what}`)
}

function isTrue({ informers }: Pick<Connection, 'informers'>, server: FaultyServer): boolean {
  return texts(informers.list(Widget)).join() === texts(server.storage.list(Widget)).join()
}

async function converges(connection: Pick<Connection, 'informers'>, server: FaultyServer): Promise<void> {
  await eventually(() => isTrue(connection, server), 'the cache equals the truth')
}

describe('caches come back to the truth', () => {
  it('after the server was killed and restarted with other objects', async () => {
    const { server, informers, changes } = await start({ tls: true })
    for (let i = 0; i < 12; i++) server.storage.create(Widget, widget(`w${i}`))
    await informers.synced()
    await converges({ informers }, server)
    for (let round = 0; round < 3; round++) {
      await server.kill()
      server.storage.create(Widget, widget(`new-${round}`))
      server.storage.delete(Widget, { namespace: 'default', name: `w${round}` })
      server.storage.replace(Widget, {
        ...server.storage.get(Widget, { namespace: 'default', name: 'w9' })!,
        ...{ spec: { size: round + 2 } },
      })
      await new Promise((resolve) => setTimeout(resolve, 30))
      await server.restart()
      await converges({ informers }, server)
    }
    assert.equal(server.count('list'), 3, 'one list of three pages; later only watches')
    assert.ok(server.count('watch') <= 8, `${server.count('watch')} watches`)
    assert.equal(changes.filter(({ type }) => type === 'deleted').length, 3)
  })

  it('after the server forgot its history while it was away, and reports what vanished as deleted', async () => {
    const { server, informers, changes } = await start()
    for (let i = 0; i < 7; i++) server.storage.create(Widget, widget(`w${i}`))
    await informers.synced()
    await server.kill()
    server.storage.delete(Widget, { namespace: 'default', name: 'w3' })
    server.storage.create(Widget, widget('late'))
    server.compact()
    await server.restart()
    await converges({ informers }, server)
    const gone = changes.filter(({ type }) => type === 'deleted').map(({ object }) => object.metadata.name)
    assert.deepEqual(gone, ['w3'])
    assert.equal(server.count('list'), 4, 'two lists of two pages')
  })

  it('when the connection is cut at every byte of a watch event', async () => {
    const { server, informers, changes } = await start({}, { backoffMs: [1, 2] })
    await informers.synced()
    const line = JSON.stringify({ type: 'ADDED', object: server.storage.seed(Widget, widget('cut-000')) })
    await converges({ informers }, server)
    const cuts = Buffer.byteLength(line) + 1
    for (let bytes = 0; bytes < cuts; bytes++) {
      await eventually(() => server.openWatches === 1, 'the watch is open')
      const before = server.count('watch')
      server.plan('watch', { cutAfterBytes: bytes })
      server.say('{"type":"ERROR","object":{"kind":"Status","code":500}}')
      await eventually(() => server.count('watch') === before + 1, 'the watch that will be cut is asked for')
      server.storage.create(Widget, widget(`cut-${String(bytes).padStart(3, '0')}-x`))
      await converges({ informers }, server)
    }
    assert.equal(server.count('list'), 1, 'a cut is resumed, never listed again')
    const watches = server.count('watch')
    assert.ok(watches > 2 * cuts - 5 && watches <= 2 * cuts + 5, `${watches} watches for ${cuts} cuts`)
    assert.equal(changes.length, cuts + 1, 'every object was reported once')
  })

  it('when a list is cut in the middle', async () => {
    const server = await faultyServer({ kinds: [Widget], tls: false })
    cleanups.push(() => server.close())
    for (let i = 0; i < 3; i++) server.storage.create(Widget, widget(`w${i}`))
    for (const bytes of [0, 1, 50, 400]) server.plan('list', { cutAfterBytes: bytes })
    const { informers } = await follow(server)
    await informers.synced()
    assert.ok(isTrue({ informers }, server))
    assert.equal(server.count('list'), 5)
  })

  it('after 410 as the status of a watch and as an event inside it', async () => {
    const { server, informers } = await start()
    await informers.synced()
    await eventually(() => server.openWatches === 1, 'the watch is open')
    server.plan('watch', { status: 410 })
    server.say('{"type":"ERROR","object":{"kind":"Status","code":500,"message":"etcd leader changed"}}')
    await eventually(() => server.count('list') === 2 && server.openWatches === 1, 'listed after the status')
    server.storage.create(Widget, widget('a'))
    server.compact()
    server.say('{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}')
    server.storage.create(Widget, widget('b'))
    await converges({ informers }, server)
    assert.equal(server.count('list'), 3)
  })

  it('after a line that is not a watch event, which is counted', async () => {
    const { server, informers } = await start()
    await informers.synced()
    for (const line of [
      '{"type":"ADDED","obj',
      'null',
      '{"type":"ADDED","object":{"metadata":{}}}',
      '{"type":"NEW","object":{"metadata":{"resourceVersion":"1"}}}',
    ]) {
      await eventually(() => server.openWatches === 1, 'the watch is open')
      server.say(line)
      server.storage.create(Widget, widget(`after-${server.storage.version}`))
      await converges({ informers }, server)
    }
    assert.equal(informers.counts()[0]?.malformed, 4)
    assert.equal(server.count('list'), 5)
  })

  it('after a storm of errors, without a storm of requests', async () => {
    const { server, informers } = await start({}, { backoffMs: [10, 80] })
    await informers.synced()
    await eventually(() => server.openWatches === 1, 'the watch is open')
    server.plan('*', { status: 500 }, Number.POSITIVE_INFINITY)
    const before = server.requests.length
    server.say('{"type":"ERROR","object":{"kind":"Status","code":500}}')
    server.storage.create(Widget, widget('meanwhile'))
    await new Promise((resolve) => setTimeout(resolve, 800))
    const during = server.requests.length - before
    server.heal()
    await converges({ informers }, server)
    // 10, 20, 40, 80, 80 … at least half of each: no more than 4 + 800 / 40.
    assert.ok(during >= 3 && during <= 24, `${during} requests in 800 ms`)
  })

  it('when a list page expires half way, by starting the list again', async () => {
    let lists = 0
    const { server, informers } = await start({
      onList: async () => {
        if (++lists === 2) server.compact()
      },
    })
    for (let i = 0; i < 12; i++) server.storage.create(Widget, widget(`w${String(i).padStart(2, '0')}`))
    await informers.synced()
    await converges({ informers }, server)
    assert.ok(server.count('list') <= 6, `${server.count('list')} pages`)
    const names: string[] = []
    const client = connect(server.access(), { pageSize: 5 })
    cleanups.push(() => client.close())
    for await (const object of client.objects.list(Widget)) {
      names.push(object.metadata.name)
      if (names.length === 5) server.compact()
    }
    assert.deepEqual(
      names,
      server.storage.list(Widget).map((object) => object.metadata.name),
      'each once',
    )
  })

  it('when the server went back to an older state', async () => {
    const { server, informers } = await start()
    for (let i = 0; i < 5; i++) server.storage.create(Widget, widget(`w${i}`))
    await informers.synced()
    await converges({ informers }, server)
    await eventually(() => server.openWatches === 1, 'the watch is open')
    server.say('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"2"}}}')
    await eventually(() => server.count('list') === 2, 'listed again')
    await converges({ informers }, server)
  })
})

describe('retries', () => {
  it('waits as long as a busy server asks, and no request is sent meanwhile', async () => {
    const clock = manualClock()
    const server = await faultyServer({ kinds: [Widget], tls: false })
    cleanups.push(() => server.close())
    server.plan('list', { status: 429, headers: { 'retry-after': '7' } })
    const { informers } = await follow(server, { clock })
    await eventually(() => server.count('list') === 1 && clock.pending > 0, 'the list was refused')
    await clock.advance(6_900)
    assert.equal(server.count('list'), 1)
    await clock.advance(200)
    await informers.synced()
    assert.equal(server.count('list'), 2)
  })

  for (const [status, headers, tries] of [
    [429, { 'retry-after': '2' }, 4],
    [429, {}, 4],
    [503, { 'retry-after': '2' }, 4],
    [503, {}, 1],
    [500, {}, 1],
  ] as const) {
    it(`asks ${tries === 1 ? 'once' : 'four times at most'} when the answer is ${status}${'retry-after' in headers ? ' with Retry-After' : ''}`, async () => {
      const clock = manualClock()
      const server = await faultyServer({ kinds: [Widget], tls: false })
      cleanups.push(() => server.close())
      const connection = connect(server.access(), { clock })
      cleanups.push(() => connection.close())
      server.plan('get', { status, headers }, 10)
      let outcome: KubeError | undefined
      connection.objects.get(Widget, { namespace: 'default', name: 'x' }).catch((error: KubeError) => {
        outcome = error
      })
      await eventually(async () => {
        await clock.advance(500)
        return outcome !== undefined
      }, 'it gave up')
      assert.deepEqual([outcome?.reason, outcome?.status], [status === 429 ? 'TooManyRequests' : 'ServerError', status])
      assert.equal(server.count('get'), tries)
    })
  }

  it('does not repeat a create that may have been done, and repeats one that was refused for lack of room', async () => {
    const { server, objects } = await start()
    server.plan('create', { status: 503, headers: { 'retry-after': '0' } })
    await assert.rejects(objects.create(Widget, widget('a')), { reason: 'ServerError' })
    assert.equal(server.count('create'), 1)
    server.plan('create', { status: 429, headers: { 'retry-after': '0' } })
    await objects.create(Widget, widget('a'))
    assert.equal(server.count('create'), 3)
  })

  it('takes a watch that says nothing for 90 seconds for dead, and not before', async () => {
    const clock = manualClock()
    const server = await faultyServer({ kinds: [Widget], tls: false })
    cleanups.push(() => server.close())
    server.plan('watch', { silent: 'watch' })
    const { informers } = await follow(server, { clock })
    await informers.synced()
    await eventually(() => server.openWatches === 1, 'the watch is open')
    server.storage.create(Widget, widget('unheard'))
    await clock.advance(89_000)
    assert.equal(server.count('watch'), 1)
    assert.deepEqual(informers.list(Widget), [])
    await clock.advance(1_500)
    await eventually(async () => {
      await clock.advance(10)
      return informers.list(Widget).length === 1
    }, 'the object is seen')
    assert.deepEqual([server.count('list'), server.count('watch')], [1, 2])
  })

  it('keeps a quiet watch for as long as bookmarks come', async () => {
    const clock = manualClock()
    const server = await faultyServer({ kinds: [Widget], tls: false })
    cleanups.push(() => server.close())
    const { informers } = await follow(server, { clock })
    await informers.synced()
    await eventually(() => server.openWatches === 1, 'the watch is open')
    for (let minute = 0; minute < 10; minute++) {
      server.bookmark()
      await new Promise((resolve) => setTimeout(resolve, 10))
      await clock.advance(60_000)
    }
    assert.deepEqual([server.count('list'), server.count('watch')], [1, 1])
  })

  it('gives up a request that is never answered, and says so', async () => {
    const { server, objects } = await start({}, { requestTimeoutMs: 50 })
    server.plan('get', { silent: 'request' })
    await assert.rejects(objects.get(Widget, { namespace: 'default', name: 'x' }), {
      reason: 'Unreachable',
      message: /did not answer in time/,
    })
  })
})

describe('several connections, and credentials', () => {
  it('lists one kind at a time, however many informers start or lose their watch together', async () => {
    const listMutex = createMutex()
    const onList = () => new Promise<void>((resolve) => setTimeout(resolve, 3))
    const server = await faultyServer({ kinds: [Widget, ConfigMapKind], tls: false, onList })
    cleanups.push(() => server.close())
    for (let i = 0; i < 12; i++) server.storage.create(Widget, widget(`w${i}`))
    const all = await Promise.all([1, 2, 3, 4].map(() => follow(server, { listMutex }, [Widget, ConfigMapKind])))
    await Promise.all(all.map(({ informers }) => informers.synced()))
    await eventually(() => server.openWatches === 8, 'all watch')
    server.compact()
    server.say('{"type":"ERROR","object":{"kind":"Status","code":410}}')
    await eventually(() => server.openWatches === 8 && server.count('list') >= 32, 'all watch again')
    assert.equal(server.listsAtOnce, 1)
    for (const one of all) assert.ok(isTrue(one, server))
    assert.equal(server.count('list'), 2 * 4 * (3 + 1), 'twice three pages and one, for each of four')
  })

  it('reads the token again when the server refuses it, in requests and in watches', async () => {
    const server = await faultyServer({ kinds: [Widget] })
    cleanups.push(() => server.close())
    server.token = 'first'
    let [file, held, reads] = ['first', 'first', 0]
    const credentials = {
      current: async () => ({ token: held }),
      renew: async () => {
        reads++
        const isNew = file !== held
        held = file
        return isNew
      },
    }
    const connection = connect(server.access({ credentials }), { listMutex: createMutex(), backoffMs: [2, 20] })
    cleanups.push(() => connection.close())
    connection.informers.register(Widget)
    connection.informers.start()
    await connection.informers.synced()

    server.token = 'second'
    file = 'second'
    await eventually(() => server.openWatches === 1, 'the watch is open')
    server.say('{"type":"ERROR","object":{"kind":"Status","code":500}}')
    server.storage.create(Widget, widget('after'))
    await converges(connection, server)
    assert.equal(
      (await connection.objects.get(Widget, { namespace: 'default', name: 'after' }))?.metadata.name,
      'after',
    )
    assert.ok(reads >= 1 && reads <= 3, `${reads} reads`)

    server.token = 'third'
    await assert.rejects(connection.objects.get(Widget, { namespace: 'default', name: 'after' }), {
      reason: 'Unauthorized',
    })
  })

  it('asks again on a new connection when the pooled ones have died', async () => {
    const { server, objects } = await start()
    const key = { namespace: 'default', name: 'x' }
    await objects.get(Widget, key)
    await server.kill()
    await server.restart()
    assert.equal(await objects.get(Widget, key), undefined)
  })

  it('never brings an object back by the late answer to a write', async () => {
    const { server, informers, changes } = await start()
    await informers.synced()
    const made = server.storage.create(Widget, widget('x'))
    await eventually(() => informers.list(Widget).length === 1, 'seen')
    server.storage.delete(Widget, keyOf(made))
    await eventually(() => informers.list(Widget).length === 0, 'gone')
    informers.written(Widget, keyOf(made), made)
    const younger = { ...made, metadata: { ...made.metadata, resourceVersion: '999' } }
    informers.written(Widget, keyOf(made), younger)
    assert.deepEqual(informers.list(Widget), [])
    assert.deepEqual(
      changes.map(({ type }) => type),
      ['added', 'deleted'],
    )
  })

  it('goes on when a handler throws, and says so', async () => {
    const warnings: string[] = []
    const server = await faultyServer({ kinds: [Widget], tls: false })
    cleanups.push(() => server.close())
    const connection = connect(server.access(), {
      listMutex: createMutex(),
      onWarning: ({ what }) => warnings.push(what),
    })
    cleanups.push(() => connection.close())
    connection.informers.register(Widget)
    connection.informers.onChange(Widget, () => {
      throw new Error('a handler with a mistake')
    })
    server.storage.create(Widget, widget('x'))
    connection.informers.start()
    await connection.informers.synced()
    assert.equal(connection.informers.list(Widget).length, 1)
    assert.deepEqual(warnings, ['handler-failed'])
  })
})
