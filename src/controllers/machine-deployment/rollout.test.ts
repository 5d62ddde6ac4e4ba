import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decideRollout, type RolloutRequest, resolveStrategy, type SetFacts, type Strategy } from './rollout.ts'

const set = (name: string, replicas: number, available = replicas, over: Partial<SetFacts> = {}): SetFacts => ({
  name,
  isCurrent: name === 'new',
  revision: name === 'new' ? 9 : name.charCodeAt(0) - 96,
  replicas,
  machines: replicas,
  available,
  deleting: 0,
  ...over,
})
const rolling = (maxSurge: number, maxUnavailable: number): Strategy => ({
  type: 'RollingUpdate',
  maxSurge,
  maxUnavailable,
})
const recreate: Strategy = { type: 'Recreate', maxSurge: 1, maxUnavailable: 0 }

const change = (sets: readonly SetFacts[], over: Partial<RolloutRequest> = {}): string => {
  const { create, scale } = decideRollout({ replicas: 3, strategy: rolling(1, 0), paused: false, sets, ...over })
  return [...(create === undefined ? [] : [`make ${create}`]), ...scale.map(({ name, to }) => `${name}=${to}`)].join(
    ' ',
  )
}

describe('A deployment', () => {
  for (const [what, sets, over, expected] of [
    ['makes its first set with all replicas', [], {}, 'make 3'],
    ['makes an empty set for 0 replicas', [], { replicas: 0 }, 'make 0'],
    ['does nothing when all is there', [set('new', 3)], {}, ''],
    ['scales up', [set('new', 3)], { replicas: 10 }, 'new=10'],
    ['scales down', [set('new', 3)], { replicas: 1 }, 'new=1'],
    ['begins an update with the surge', [set('a', 3)], {}, 'make 1'],
    ['begins an update without surge by what may be missing', [set('a', 3)], { strategy: rolling(0, 2) }, 'make 0 a=1'],
    ['waits while the new machine is not available', [set('a', 3), set('new', 1, 0)], {}, ''],
    ['removes an old machine when a new one is available', [set('a', 3), set('new', 1)], {}, 'a=2'],
    ['uses the room that an old machine left', [set('a', 2), set('new', 1)], {}, 'new=2'],
    ['counts machines that are still to be removed', [set('a', 2, 3, { machines: 3 }), set('new', 1)], {}, ''],
    ['removes the oldest set first', [set('b', 1), set('a', 2), set('new', 1)], {}, 'a=1'],
    ['removes an old machine that does not work first', [set('a', 3, 2), set('new', 1)], {}, 'a=2'],
    ['keeps old machines when none is reported as available', [set('a', 3, 0), set('new', 1, 0)], {}, ''],
    [
      'counts a machine that is still to be removed once when none is reported as available',
      [set('a', 2, 0, { machines: 3 })],
      { strategy: rolling(0, 1) },
      'make 0',
    ],
    ['removes what failed after an undo', [set('new', 3), set('b', 1, 0)], {}, 'b=0'],
    ['ends with old sets at 0', [set('a', 1), set('new', 3)], {}, 'a=0'],
    ['deletes everything first to recreate', [set('a', 3)], { strategy: recreate }, 'a=0'],
    ['waits for the last old machine to recreate', [set('a', 0, 0, { deleting: 1 })], { strategy: recreate }, ''],
    ['recreates when the old ones are gone', [set('a', 0)], { strategy: recreate }, 'make 3'],
    ['rolls nothing out while paused', [set('a', 3)], { paused: true }, ''],
    ['makes nothing while paused', [], { paused: true }, ''],
    ['scales while paused', [set('a', 3)], { paused: true, replicas: 5 }, 'a=5'],
    [
      'scales up the new set while paused amid an update',
      [set('a', 2), set('new', 1)],
      { paused: true, replicas: 5 },
      'new=3',
    ],
    [
      'scales down the old set while paused amid an update',
      [set('a', 2), set('new', 2)],
      { paused: true, replicas: 1 },
      'a=0',
    ],
  ] as const)
    it(what, () => assert.equal(change(sets, over), expected))

  for (const [surge, unavailable, replicas, expected] of [
    [1, 0, 3, [1, 0]],
    ['25%', '25%', 10, [3, 2]],
    ['25%', '0%', 1, [1, 0]],
    [0, '10%', 3, [0, 1]],
    ['0%', 2, 3, [0, 2]],
    ['100%', '100%', 4, [4, 4]],
  ] as const)
    it(`with surge ${surge} and unavailable ${unavailable} of ${replicas} may have ${expected[0]} more and ${expected[1]} less`, () => {
      const rollingUpdate = { maxSurge: surge, maxUnavailable: unavailable }
      const { maxSurge, maxUnavailable } = resolveStrategy({ type: 'RollingUpdate', rollingUpdate }, replicas)
      assert.deepEqual([maxSurge, maxUnavailable], expected)
    })
})
