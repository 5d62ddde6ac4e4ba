import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { manualClock } from '#testing'
import { groupWaves, performWaves, type WaveMember, type WavePorts } from './waves.ts'

const member = (name: string, wave?: string): WaveMember => ({ name, labels: wave === undefined ? {} : { wave } })
const stopped = { is: 'stopped', message: 'no', hint: 'mend it' } as const

describe('waves', () => {
  it('follow the values of a label, numbers as numbers, and end with those that have none', () => {
    const members = [member('d'), member('c', '10'), member('b', '2'), member('a', '2')]
    assert.deepEqual(groupWaves(members, 'wave'), [['a', 'b'], ['c'], ['d']])
    assert.deepEqual(groupWaves(members, undefined), [['a', 'b', 'c', 'd']])
    assert.deepEqual(groupWaves([], undefined), [])
  })

  const ports = (over: Partial<WavePorts>): WavePorts => ({
    clock: manualClock(),
    signal: new AbortController().signal,
    upgrade: async () => ({ is: 'done', kubernetes: '1.35' }),
    complaintOf: async () => undefined,
    progress: () => undefined,
    live: () => undefined,
    ...over,
  })

  it('take so many at once', async () => {
    let running = 0
    let most = 0
    const upgrade = async () => {
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setImmediate(resolve))
      running -= 1
      return { is: 'done', kubernetes: '1.35' } as const
    }
    const { done } = await performWaves(ports({ upgrade }), [['a', 'b', 'c', 'd', 'e']], {
      maxConcurrent: 2,
      soakMs: 0,
    })
    assert.deepEqual([done.length, most], [5, 2])
  })

  it('stop at the first cluster that fails, and name those that were not reached', async () => {
    const upgrade = async (name: string) => (name === 'b' ? stopped : ({ is: 'done', kubernetes: '1.35' } as const))
    const outcome = await performWaves(ports({ upgrade }), [['a', 'b', 'c'], ['d']], { maxConcurrent: 1, soakMs: 0 })
    assert.deepEqual(outcome, { done: ['a'], failed: [{ name: 'b', outcome: stopped }], notReached: ['c', 'd'] })
  })

  it('stop when a cluster breaks during the soak time', async () => {
    const clock = manualClock()
    let looks = 0
    const complaintOf = async (name: string) => {
      looks += 1
      return looks > 2 ? `${name} is broken` : undefined
    }
    const running = performWaves(ports({ clock, complaintOf }), [['a'], ['b']], { maxConcurrent: 1, soakMs: 60_000 })
    for (let i = 0; i < 10; i += 1) await clock.advance(10_000)
    const { done, failed, notReached } = await running
    assert.deepEqual([done, notReached], [['a'], ['b']])
    assert.partialDeepStrictEqual(failed, [{ name: 'a', outcome: { is: 'stopped', message: 'a is broken' } }])
  })
})
