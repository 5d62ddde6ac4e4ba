import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { handWoundClock } from '#testing'
import { Progress } from '../messages.ts'
import { closeRun, type InFlight, newRecord, type Run } from '../record/record.ts'
import { watchInFlight } from './in-flight.ts'
import { inDoubt, underWay } from './suspects.ts'

function open() {
  const clock = handWoundClock()
  const now = new Map<string, string>()
  const written: InFlight[] = []
  const fails: Error[] = []
  const stop = watchInFlight({
    clock,
    now: () => now,
    async write(inFlight) {
      const error = fails.pop()
      if (error) throw error
      written.push(inFlight)
    },
  })
  const names = () => written.map(({ addresses }) => addresses.map(({ address }) => address).join())
  return { clock, now, written, names, stop, fails }
}

describe('what Terraform has in hand', () => {
  it('is written within half a second, then at most once a second, and again when it has ended', async () => {
    const { clock, now, names, stop } = open()
    now.set('b', 'create')
    await clock.advance(400)
    assert.deepEqual(names(), ['b'])
    now.set('a', 'create')
    await clock.advance(900)
    assert.deepEqual(names(), ['b'])
    await clock.advance(200)
    assert.deepEqual(names(), ['b', 'a,b'])
    now.clear()
    await clock.advance(1200)
    assert.deepEqual(names(), ['b', 'a,b', ''])
    await clock.advance(60_000)
    assert.equal(names().length, 3, 'nothing new, nothing written')
    stop()
    now.set('c', 'create')
    await clock.advance(60_000)
    assert.deepEqual([names().length, clock.pending], [3, 0])
  })

  it('costs no request when it is over within a moment', async () => {
    const { clock, now, names, stop } = open()
    for (let i = 0; i < 50; i++) {
      now.clear()
      now.set(`x[${i}]`, 'create')
      await clock.advance(200)
    }
    assert.deepEqual(names(), [])
    stop()
  })

  it('is named up to a bound, and counted beyond', async () => {
    const { clock, now, written, stop } = open()
    for (let i = 0; i < 100; i++) now.set(`x[${i}]`, 'create')
    await clock.advance(400)
    assert.deepEqual([written[0]?.addresses.length, written[0]?.more], [64, 36])
    assert.ok(written[0]?.addresses.every(({ address }) => now.has(address) && Number(/\d+/.exec(address)) < 64))
    stop()
  })

  it('is what was begun, then what was made and is not saved; a deletion is simply tried again', () => {
    const progress = new Progress()
    const say = (is: 'started' | 'finished', address: string, action: string) =>
      progress.add({ is, address, action, text: '' })
    for (const address of ['a', 'b', 'c']) say('started', address, 'create')
    for (const address of ['a', 'b']) say('finished', address, 'create')
    say('started', 'd', 'delete')
    assert.deepEqual(
      [...inDoubt(progress, new Set(['a']))],
      [
        ['c', 'create'],
        ['b', 'create'],
      ],
    )
    assert.deepEqual([...underWay(progress)], [['c', 'create']])
  })

  it('is written again when that failed', async () => {
    const { clock, now, names, stop, fails } = open()
    fails.push(new Error('away'))
    now.set('a', 'create')
    await clock.advance(400)
    assert.deepEqual(names(), [])
    await clock.advance(1000)
    assert.deepEqual(names(), ['a'])
    stop()
  })

  it('is in doubt when the run is lost, and decided by the runner when it ends by itself', () => {
    const inFlight = { addresses: [{ address: 'aws_vpc.this', action: 'create' }], more: 0 }
    const record = { ...newRecord('w'), run: { id: 'r1', verb: 'apply', phase: 'Apply', inFlight } as unknown as Run }
    const lost = closeRun(record, 'Lost', 'now')
    assert.deepEqual(lost.suspects, [{ address: 'aws_vpc.this', action: 'create', run: 'r1' }])
    assert.equal(lost.run?.inFlight, undefined)
    assert.deepEqual(closeRun(record, 'Failed', 'now').suspects, [])
  })
})
