import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { manualClock } from '#testing'
import { watchInFlight } from './in-flight.ts'

function open() {
  const clock = manualClock()
  const now = new Map<string, string>()
  const written: ReadonlyMap<string, string>[] = []
  const fails: Error[] = []
  const stop = watchInFlight({
    clock,
    now: () => now,
    async write(begun) {
      const error = fails.pop()
      if (error) throw error
      written.push(begun)
    },
  })
  const names = () => written.map((begun) => [...begun.keys()].join())
  return { clock, now, names, stop, fails }
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
})
