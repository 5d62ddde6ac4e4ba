import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AnyObject, Lease } from '#api'
import { KubeError, type Objects, type WriteOptions } from '#kube'
import { collectingLog, type ManualClock, manualClock } from '#testing'
import { type Election, runElection } from './election.ts'
import { fenced } from './fenced.ts'

const KEY = { namespace: 'capt-system', name: 'capt-leader' }

/** One lease with optimistic concurrency, and what can go wrong on the way to it. */
function aLeaseServer() {
  let lease: Lease | undefined
  let version = 0
  const keep = (next: Lease) => {
    lease = { ...next, metadata: { ...next.metadata, resourceVersion: String(++version) } }
    return lease
  }
  /** The view of one candidate: it can be cut off, or its requests can hang. */
  const connect = () => {
    const line = { down: false, hangs: false, requests: 0 }
    const pass = async () => {
      line.requests++
      if (line.down) throw new KubeError('Unreachable', 'connection refused')
      if (line.hangs) await new Promise(() => undefined)
    }
    const objects = {
      async get() {
        await pass()
        return lease
      },
      async create(_kind: unknown, next: Lease) {
        await pass()
        if (lease) throw new KubeError('AlreadyExists', 'taken')
        return keep(next)
      },
      async replace(_kind: unknown, next: Lease) {
        await pass()
        if (lease?.metadata.resourceVersion !== next.metadata.resourceVersion) throw new KubeError('Conflict', 'moved')
        return keep(next)
      },
    } as unknown as Objects
    return Object.assign(line, { objects })
  }
  return { connect, lease: () => lease, holder: () => lease?.spec?.holderIdentity }
}

/** A clock that can stand still while another goes on: what SIGSTOP does to a process. */
function pausable(clock: ManualClock) {
  let paused = false
  const late: (() => void)[] = []
  return {
    ...clock,
    after: (ms: number, callback: () => void) => clock.after(ms, () => (paused ? late.push(callback) : callback())),
    pause: () => {
      paused = true
    },
    async resume() {
      paused = false
      for (const callback of late.splice(0)) callback()
      await clock.advance(0)
    },
  }
}

function aCandidate(server: ReturnType<typeof aLeaseServer>, clock: ManualClock, identity: string) {
  const line = server.connect()
  const own = pausable(clock)
  const log = collectingLog()
  const seen = { lost: 0, elected: false }
  const election: Election = runElection({
    objects: line.objects,
    clock: own,
    log,
    lease: KEY,
    identity,
    onLost: () => {
      seen.lost++
    },
  })
  void election.elected.then(() => {
    seen.elected = true
  })
  return { line, own, log, seen, election }
}

describe('leader election', () => {
  it('gives the lease to the first who asks, and keeps it renewed', async () => {
    const [server, clock] = [aLeaseServer(), manualClock()]
    const a = aCandidate(server, clock, 'a')
    await clock.advance(0)
    assert.deepEqual([a.seen.elected, a.election.holds()], [true, true])
    assert.partialDeepStrictEqual(server.lease()?.spec, {
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
      renewTime: '2026-01-01T00:00:00.000000Z',
    })
    await clock.advance(60_000)
    assert.equal(a.election.holds(), true)
    assert.equal(server.lease()?.spec?.renewTime, '2026-01-01T00:01:00.000000Z')
    assert.equal(server.lease()?.spec?.acquireTime, '2026-01-01T00:00:00.000000Z')
    assert.ok(a.line.requests <= 33, `${a.line.requests} requests a minute`)
  })

  it('lets a second candidate wait as long as the first renews', async () => {
    const [server, clock] = [aLeaseServer(), manualClock()]
    aCandidate(server, clock, 'a')
    const b = aCandidate(server, clock, 'b')
    await clock.advance(300_000)
    assert.deepEqual([server.holder(), b.seen.elected, b.election.holds()], ['a', false, false])
    // Once, and with the holder, so that a manager that waits does not look like one that hangs.
    assert.deepEqual(
      b.log.lines.map(({ message, keys }) => [message, keys['holder']]),
      [['Another manager leads; waiting for its lease', 'a']],
    )
  })

  it('takes over from a leader that was killed, one lease duration after its last sign of life', async () => {
    const [server, clock] = [aLeaseServer(), manualClock()]
    const a = aCandidate(server, clock, 'a')
    const b = aCandidate(server, clock, 'b')
    await clock.advance(4000)
    a.own.pause()
    await clock.advance(14_000)
    assert.equal(server.holder(), 'a')
    await clock.advance(4000)
    assert.deepEqual([server.holder(), b.election.holds()], ['b', true])
    assert.equal(server.lease()?.spec?.leaseTransitions, 1)
  })

  it('measures by its own clock, not by the time written in the lease', async () => {
    const [server, clock] = [aLeaseServer(), manualClock(Date.UTC(2040, 0, 1))]
    const old = manualClock(Date.UTC(2020, 0, 1))
    const a = aCandidate(server, old, 'a')
    await old.advance(0)
    const b = aCandidate(server, clock, 'b')
    for (let second = 0; second < 60; second++) {
      await old.advance(1000)
      await clock.advance(1000)
    }
    assert.deepEqual([a.election.holds(), b.election.holds()], [true, false])
  })

  it('never lets a paused leader write after its successor began (SIGSTOP)', async () => {
    const [server, clock] = [aLeaseServer(), manualClock()]
    const a = aCandidate(server, clock, 'a')
    const b = aCandidate(server, clock, 'b')
    await clock.advance(3000)
    a.own.pause()
    await clock.advance(30_000)
    assert.equal(b.election.holds(), true)
    assert.equal(a.election.holds(), false, 'before any of its timers ran')
    await a.own.resume()
    assert.deepEqual([a.seen.lost, a.election.holds(), server.holder()], [1, false, 'b'])
  })

  it('never has two writers, whenever and however long the leader is paused', async () => {
    for (const [at, length] of [
      [500, 9_000],
      [1_900, 10_500],
      [2_000, 14_900],
      [2_100, 15_100],
      [7_777, 40_000],
    ] as const) {
      const [server, clock] = [aLeaseServer(), manualClock()]
      const both = [aCandidate(server, clock, 'a'), aCandidate(server, clock, 'b')]
      const run = async (ms: number) => {
        for (let passed = 0; passed < ms; passed += 100) {
          await clock.advance(100)
          const writers = both.filter(({ election }) => election.holds())
          assert.ok(writers.length <= 1, `two writers when paused at ${at} for ${length}`)
        }
      }
      await run(at)
      both[0]!.own.pause()
      await run(length)
      await both[0]!.own.resume()
      await run(20_000)
      assert.equal(both.filter(({ election }) => election.holds()).length, 1)
    }
  })

  it('gives up after ten seconds without the API server, five before anybody else may begin', async () => {
    const [server, clock] = [aLeaseServer(), manualClock()]
    const a = aCandidate(server, clock, 'a')
    await clock.advance(4000)
    a.line.down = true
    await clock.advance(9_900)
    assert.deepEqual([a.seen.lost, a.election.holds()], [0, true])
    await clock.advance(200)
    assert.deepEqual([a.seen.lost, a.election.holds()], [1, false])
    a.line.down = false
    await clock.advance(60_000)
    assert.deepEqual([a.seen.lost, a.election.holds(), clock.pending], [1, false, 0])
  })

  it('survives a short outage of the API server', async () => {
    const [server, clock] = [aLeaseServer(), manualClock()]
    const a = aCandidate(server, clock, 'a')
    await clock.advance(4000)
    a.line.down = true
    await clock.advance(7000)
    a.line.down = false
    await clock.advance(30_000)
    assert.deepEqual([a.seen.lost, a.election.holds()], [0, true])
  })

  it('does not count on an answer that never comes', async () => {
    const [server, clock] = [aLeaseServer(), manualClock()]
    const a = aCandidate(server, clock, 'a')
    await clock.advance(4000)
    a.line.hangs = true
    await clock.advance(10_100)
    assert.deepEqual([a.seen.lost, a.election.holds()], [1, false])
  })

  it('waits for ever for an API server that is not there yet', async () => {
    const [server, clock] = [aLeaseServer(), manualClock()]
    const a = aCandidate(server, clock, 'a')
    a.line.down = true
    await clock.advance(120_000)
    assert.deepEqual([a.seen.elected, a.seen.lost], [false, 0])
    a.line.down = false
    await clock.advance(2000)
    assert.equal(a.election.holds(), true)
  })

  it('hands over at once when it is stopped', async () => {
    const [server, clock] = [aLeaseServer(), manualClock()]
    const a = aCandidate(server, clock, 'a')
    const b = aCandidate(server, clock, 'b')
    await clock.advance(4000)
    await a.election.stop()
    assert.deepEqual([server.holder(), a.election.holds()], ['', false])
    await clock.advance(2000)
    assert.deepEqual([server.holder(), b.election.holds(), a.seen.lost], ['b', true, 0])
  })

  it('does not release a lease that is no longer its own', async () => {
    const [server, clock] = [aLeaseServer(), manualClock()]
    const a = aCandidate(server, clock, 'a')
    aCandidate(server, clock, 'b')
    await clock.advance(3000)
    a.own.pause()
    await clock.advance(30_000)
    await a.election.stop()
    assert.equal(server.holder(), 'b')
  })
})

describe('an answer that comes too late', () => {
  it('does not bring back the lease of one that was stopped meanwhile', async () => {
    const [server, clock] = [aLeaseServer(), manualClock()]
    const line = server.connect()
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    const get = async (...args: Parameters<Objects['get']>) => {
      await held
      return line.objects.get(...args)
    }
    const objects = { ...line.objects, get } as Objects
    const onLost = () => undefined
    const election = runElection({ objects, clock, log: collectingLog(), lease: KEY, identity: 'a', onLost })
    await clock.advance(0)
    await election.stop()
    letGo()
    await clock.advance(1000)
    assert.equal(server.lease(), undefined)
  })
})

describe('fenced objects', () => {
  it('are asked again when the write leaves: a pause in between is noticed', async () => {
    const writes: string[] = []
    let leads = true
    const objects = {
      async patch(_kind: unknown, _key: unknown, _patch: unknown, how?: WriteOptions) {
        leads = false
        how?.permit?.()
        writes.push('written')
      },
      async delete(_kind: unknown, _key: unknown, how?: WriteOptions) {
        leads = false
        how?.permit?.()
        writes.push('deleted')
      },
    } as unknown as Objects
    const guarded = fenced(objects, { holds: () => leads })
    const kind = { group: '', version: 'v1', kind: 'X', plural: 'xs', namespaced: true }
    const body = { type: 'merge', body: {} } as const
    await assert.rejects(guarded.patch(kind, { name: 'x' }, body, { subresource: 'status' }), {
      code: 'CAPT_NOT_LEADER',
    })
    leads = true
    await assert.rejects(guarded.delete(kind, { name: 'x' }, { uid: 'u' }), { code: 'CAPT_NOT_LEADER' })
    assert.deepEqual(writes, [])
  })

  it('read always, and write only while leadership is beyond doubt', async () => {
    const calls: string[] = []
    const note = (verb: string) => async () => void calls.push(verb)
    const objects = Object.fromEntries(
      ['get', 'create', 'replace', 'patch', 'apply', 'delete'].map((verb) => [verb, note(verb)]),
    ) as unknown as Objects
    let leads = true
    const guarded = fenced(objects, { holds: () => leads })
    const kind = { group: '', version: 'v1', kind: 'X', plural: 'xs', namespaced: true }
    const object: AnyObject = { apiVersion: 'v1', kind: 'X', metadata: { name: 'x' } }
    const writes = [
      () => guarded.create(kind, object),
      () => guarded.replace(kind, object),
      () => guarded.patch(kind, { name: 'x' }, { type: 'merge', body: {} }),
      () => guarded.apply(kind, object),
      () => guarded.delete(kind, { name: 'x' }),
    ]
    for (const write of writes) await write()
    assert.deepEqual(calls, ['create', 'replace', 'patch', 'apply', 'delete'])
    leads = false
    calls.length = 0
    await guarded.get(kind, { name: 'x' })
    for (const write of writes) await assert.rejects(write, { code: 'CAPT_NOT_LEADER' })
    assert.deepEqual(calls, ['get'])
  })
})
