import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decideWaves, type WaveMember } from './waves.ts'

/** `a1+5`: member a of wave 1, healthy for 5 s. `-` behind, `~` moving, `!` unhealthy, `=` paused. */
const STATES = { '-': 'behind', '~': 'moving', '!': 'unhealthy', '=': 'paused', '+': 'healthy' } as const
const NOW_MS = 1_000_000
const member = (text: string): WaveMember => {
  const [, name, wave, mark, seconds] = /^([a-z]+)(\d)([-~!=+])(\d*)$/.exec(text)!
  const state = STATES[mark as keyof typeof STATES]
  return {
    name: name!,
    wave: Number(wave),
    state,
    ...(state === 'healthy' ? { sinceMs: NOW_MS - Number(seconds || 3600) * 1000 } : {}),
    ...(state === 'unhealthy' ? { reason: 'no pods' } : {}),
  }
}
const decide = (text: string, maxConcurrent = 1, soakMs = 60_000) =>
  decideWaves(text.split(' ').filter(Boolean).map(member), { maxConcurrent, soakMs }, NOW_MS)

describe('decideWaves', () => {
  const rows: readonly (readonly [what: string, members: string, at: number, expected: object])[] = [
    ['starts the first wave, so many at once', 'c1- a1- b1- d2-', 2, { wave: 1, waves: 2, start: ['a', 'b'] }],
    ['names those that are not reached', 'c1- a1- b1- d2-', 2, { notReached: ['c', 'd'] }],
    ['fills the places of those that are through', 'a1+1 b1~ c1- d2-', 2, { start: ['c'], moving: ['b'] }],
    ['starts no more than may be under way', 'a1~ b1- c1-', 1, { start: [], notReached: ['b', 'c'] }],
    ['soaks after a wave', 'a1+20 b1+10 c2-', 1, { wave: 2, start: [], soakLeftMs: 50_000 }],
    ['starts the next wave after the soak time', 'a1+61 b1+60 c2-', 1, { wave: 2, start: ['c'] }],
    ['does not soak within a wave', 'a1+1 b1-', 1, { start: ['b'] }],
    ['waits for the rest of a wave', 'a1+99 b1~ c2-', 5, { wave: 1, start: [] }],
    [
      'stops at the first unhealthy one',
      'a1+99 b1! c1- d2-',
      5,
      { start: [], stopped: { name: 'b', reason: 'no pods' }, notReached: ['c', 'd'] },
    ],
    [
      'stops when one of an earlier wave falls ill',
      'a1! b2~ c2-',
      5,
      { wave: 2, start: [], stopped: { name: 'a', reason: 'no pods' } },
    ],
    ['soaks again when one of an earlier wave has recovered', 'a1+5 b2+99 c2-', 5, { start: [], soakLeftMs: 55_000 }],
    ['passes over paused ones and names them', 'a1= b1+99 c2-', 1, { wave: 2, start: ['c'], paused: ['a'] }],
    [
      'goes back to one that is no longer paused',
      'a1- b1+99 c2+99 d3-',
      9,
      { wave: 1, start: ['a'], notReached: ['d'] },
    ],
    ['is through when all are healthy', 'a1+ b2+', 1, { wave: 0, start: [], healthy: ['a', 'b'], notReached: [] }],
    ['is through when the rest is paused', 'a1+ b2=', 1, { wave: 0, paused: ['b'] }],
    ['has nothing to do without members', '', 1, { wave: 0, waves: 0, start: [] }],
  ]
  for (const [what, members, at, expected] of rows)
    it(what, () => assert.partialDeepStrictEqual(decide(members, at), expected))

  it('never starts more than allowed, and none beyond the open wave, whatever the states', () => {
    const marks = ['-', '~', '+', '=', '+30']
    for (let n = 0; n < 5 ** 4; n++) {
      const text = ['a1', 'b1', 'c2', 'd2'].map((name, i) => name + marks[Math.floor(n / 5 ** i) % 5]!).join(' ')
      const { start, moving, notReached, wave } = decide(text, 1)
      assert.ok(
        start.length + moving.filter((name) => (wave === 1 ? 'ab' : 'cd').includes(name)).length <= 1 ||
          start.length === 0,
        text,
      )
      const isFirstOpen = /[ab]1[-~]/.test(text)
      assert.ok(!start.some((name) => 'cd'.includes(name) && isFirstOpen), text)
      assert.ok(!start.some((name) => notReached.includes(name)), text)
    }
  })
})
