import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Key, keyText } from '#api'
import { collectingMetrics, manualClock } from '#testing'
import { type Again, createQueue } from './queue.ts'

const key = (text: string): Key => {
  const [namespace, name] = text.split('/') as [string, string]
  return { namespace, name }
}

/** A queue whose reconciles end when the test says so. */
function aQueue(concurrency = 1) {
  const clock = manualClock()
  const metrics = collectingMetrics()
  const queue = createQueue({ name: 'test', clock, metrics })
  const reconciles: string[] = []
  const open = new Map<string, (again: Again) => void>()
  const start = () =>
    queue.start(concurrency, (taken) => {
      reconciles.push(keyText(taken))
      return new Promise((resolve) => open.set(keyText(taken), resolve))
    })
  const end = async (text: string, again: Again = 'never') => {
    await clock.advance(0)
    const resolve = open.get(text)
    assert.ok(resolve, `${text} is not being worked on`)
    open.delete(text)
    resolve(again)
    await clock.advance(0)
  }
  return { clock, metrics, queue, reconciles, open, start, end }
}
const value = (metrics: ReturnType<typeof collectingMetrics>, name: string) =>
  metrics.value(name, { name: 'test', controller: 'test' })

describe('the work queue', () => {
  it('merges many requests for one object', () => {
    const { queue, reconciles, start, metrics } = aQueue()
    for (let i = 0; i < 5; i++) queue.add(key('a/x'))
    start()
    assert.deepEqual(reconciles, ['a/x'])
    assert.equal(value(metrics, 'workqueue_adds_total'), 1)
  })

  it('reconciles once for all changes of an object in one tick, also when it is free to work', async () => {
    const { queue, reconciles, start, end } = aQueue(4)
    start()
    queue.add(key('a/x'))
    queue.add(key('a/x'))
    await end('a/x')
    assert.deepEqual(reconciles, ['a/x'])
    assert.equal(queue.depth + queue.active, 0)
  })

  it('looks once more, and only afterwards, at an object that changed during its reconcile', async () => {
    const { queue, reconciles, start, end, clock } = aQueue(4)
    start()
    queue.add(key('a/x'))
    await clock.advance(0)
    queue.add(key('a/x'))
    queue.add(key('a/x'))
    assert.deepEqual(reconciles, ['a/x'])
    await end('a/x')
    assert.deepEqual(reconciles, ['a/x', 'a/x'])
    await end('a/x')
    assert.equal(queue.depth + queue.active, 0)
  })

  it('lets a namespace with one object in after one of the thousand of another', async () => {
    const { queue, reconciles, start, end } = aQueue()
    for (let i = 0; i < 1000; i++) queue.add(key(`big/${i}`))
    queue.add(key('small/x'))
    start()
    await end('big/0')
    assert.deepEqual(reconciles, ['big/0', 'small/x'])
    assert.equal(queue.depth, 999)
  })

  it('works on as many objects at once as it was allowed to', async () => {
    const { queue, reconciles, start, end, clock } = aQueue(3)
    start()
    for (const name of ['a', 'b', 'c', 'd']) queue.add(key(`n/${name}`))
    await clock.advance(0)
    assert.deepEqual([reconciles.length, queue.active, queue.depth], [3, 3, 1])
    await end('n/b')
    assert.deepEqual([reconciles.length, queue.active, queue.depth], [4, 3, 0])
  })

  it('takes the earliest of several delays', async () => {
    const { queue, reconciles, start, clock } = aQueue()
    start()
    queue.addAfter(key('a/x'), 5000)
    queue.addAfter(key('a/x'), 1000)
    queue.addAfter(key('a/x'), 9000)
    await clock.advance(999)
    assert.deepEqual(reconciles, [])
    await clock.advance(1)
    assert.deepEqual(reconciles, ['a/x'])
  })

  it('lets now beat later, and does not come back for what was asked before', async () => {
    const { queue, reconciles, start, clock, end } = aQueue()
    start()
    queue.addAfter(key('a/x'), 1000)
    queue.add(key('a/x'))
    await end('a/x')
    await clock.advance(10_000)
    assert.deepEqual(reconciles, ['a/x'])
  })

  it('backs off from 5 ms, doubling up to 1000 s, and starts again after a success', async () => {
    const { queue, reconciles, start, clock, end, metrics } = aQueue()
    start()
    queue.add(key('a/x'))
    await clock.advance(0)
    const waits: number[] = []
    for (let i = 0; i < 20; i++) {
      const before = clock.monotonic()
      const count = reconciles.length
      await end('a/x', 'backoff')
      assert.equal(queue.failures(key('a/x')), i + 1)
      for (let ms = 5; reconciles.length === count; ms *= 2)
        await clock.advance(Math.min(ms, 1_000_000) - (clock.monotonic() - before))
      waits.push(clock.monotonic() - before)
    }
    assert.deepEqual(waits.slice(0, 5), [5, 10, 20, 40, 80])
    assert.deepEqual(waits.slice(-2), [1_000_000, 1_000_000])
    assert.equal(value(metrics, 'workqueue_retries_total'), 20)
    await end('a/x', 'now')
    assert.equal(queue.failures(key('a/x')), 0)
    await end('a/x', 'backoff')
    await clock.advance(5)
    assert.ok(queue.active === 1)
  })

  it('spreads the retries of a thousand objects that fail together', async () => {
    const clock = manualClock()
    const queue = createQueue({ name: 'test', clock })
    let reconciles = 0
    let failing = true
    queue.start(1000, async () => {
      reconciles++
      return failing ? 'backoff' : 'never'
    })
    for (let i = 0; i < 1000; i++) queue.add(key(`a/${i}`))
    await clock.advance(0)
    failing = false
    assert.equal(reconciles, 1000)
    await clock.advance(1000)
    assert.ok(reconciles > 1090 && reconciles < 1120, `${reconciles - 1000} of 1000 came back in the first second`)
    await clock.advance(90_000)
    assert.equal(reconciles, 2000)
  })

  it('comes back after the time a reconcile asked for', async () => {
    const { queue, reconciles, start, clock, end } = aQueue()
    start()
    queue.add(key('a/x'))
    await end('a/x', { afterMs: 30_000 })
    await clock.advance(29_999)
    assert.equal(reconciles.length, 1)
    await clock.advance(1)
    assert.equal(reconciles.length, 2)
  })

  it('survives a reconcile that throws: the object backs off', async () => {
    const clock = manualClock()
    const queue = createQueue({ name: 'test', clock })
    let reconciles = 0
    queue.start(1, () => {
      reconciles++
      throw new Error('bug')
    })
    queue.add(key('a/x'))
    await clock.advance(5)
    assert.equal(reconciles, 2)
  })

  it('stops when the reconciles under way have ended, and takes no new one', async () => {
    const { queue, reconciles, start, clock, end } = aQueue(2)
    start()
    for (const name of ['a', 'b', 'c']) queue.add(key(`n/${name}`))
    queue.addAfter(key('n/d'), 10)
    await clock.advance(0)
    const stopped = queue.stop(10_000)
    await end('n/a', 'now')
    await end('n/b')
    assert.deepEqual(await stopped, [])
    queue.add(key('n/e'))
    await clock.advance(20_000)
    assert.deepEqual(reconciles, ['n/a', 'n/b'])
    assert.equal(clock.pending, 0)
  })

  it('does not wait for ever for a reconcile that hangs, and names it', async () => {
    const { queue, start, clock } = aQueue()
    start()
    queue.add(key('n/a'))
    await clock.advance(0)
    const stopped = queue.stop(10_000)
    await clock.advance(10_000)
    assert.deepEqual(await stopped, [key('n/a')])
  })

  it('shows how much waits and how long reconciles have been running', async () => {
    const { queue, start, clock, metrics } = aQueue(2)
    start()
    queue.add(key('n/a'))
    await clock.advance(2000)
    queue.add(key('n/b'))
    queue.add(key('n/c'))
    await clock.advance(1000)
    assert.equal(value(metrics, 'workqueue_depth'), 1)
    assert.equal(value(metrics, 'workqueue_unfinished_work_seconds'), 4)
    assert.equal(value(metrics, 'workqueue_longest_running_processor_seconds'), 3)
    assert.equal(value(metrics, 'workqueue_queue_duration_seconds'), 2)
  })

  it('never works on an object twice at once, and never loses a request (any order of events)', async () => {
    const step = fc.record({
      what: fc.constantFrom('add', 'later', 'wind', 'end'),
      name: fc.constantFrom('a/1', 'a/2', 'b/1'),
      ms: fc.integer({ min: 0, max: 50 }),
      again: fc.constantFrom<Again>('never', 'now', 'backoff', { afterMs: 20 }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.integer({ min: 1, max: 3 }),
        async (steps, concurrency) => {
          const clock = manualClock()
          const queue = createQueue({ name: 'test', clock })
          const open = new Map<string, (again: Again) => void>()
          const owed = new Set<string>()
          queue.start(concurrency, (taken) => {
            const id = keyText(taken)
            assert.ok(!open.has(id), `${id} is worked on twice`)
            owed.delete(id)
            return new Promise((resolve) => open.set(id, resolve))
          })
          const end = async (id: string, again: Again) => {
            const resolve = open.get(id)
            if (!resolve) return
            open.delete(id)
            if (again !== 'never') owed.add(id)
            resolve(again)
            await clock.advance(0)
          }
          for (const { what, name, ms, again } of steps) {
            if (what === 'wind') await clock.advance(ms)
            else if (what === 'end') await end(name, again)
            else {
              owed.add(name)
              if (what === 'add') queue.add(key(name))
              else queue.addAfter(key(name), ms)
            }
            assert.ok(queue.active <= concurrency)
          }
          for (let i = 0; i < 20; i++) {
            for (const id of [...open.keys()]) await end(id, 'never')
            await clock.advance(1000)
          }
          assert.deepEqual([...owed], [])
          assert.equal(queue.depth + queue.active, 0)
        },
      ),
      { numRuns: 60 },
    )
  })
})
