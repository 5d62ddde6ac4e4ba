import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decideReplicas, type MachineFacts, MOST_AT_ONCE, type ReplicaRequest } from './replicas.ts'

const machine = (name: string, over: Partial<MachineFacts> = {}): MachineFacts => ({
  name,
  uid: `uid-${name}`,
  createdAt: `2026-01-01T00:00:0${name.length}Z`,
  isDeleting: false,
  isFailed: false,
  isProvisioned: true,
  isReady: true,
  isAvailable: true,
  isMarked: false,
  ...over,
})
const booting = { isProvisioned: false, isReady: false, isAvailable: false }
const [old, middle, young] = [machine('a'), machine('bb'), machine('ccc')]

const change = (over: Partial<ReplicaRequest>) => {
  const { create, remove, withheld } = decideReplicas({
    wanted: 3,
    machines: [old, middle, young],
    policy: 'Oldest',
    spare: undefined,
    ...over,
  })
  return [`+${create}`, ...remove.map(({ name }) => `-${name}`), ...(withheld > 0 ? [`held ${withheld}`] : [])].join(
    ' ',
  )
}

describe('a set of machines', () => {
  for (const [what, over, expected] of [
    ['with as many as wanted does nothing', {}, '+0'],
    ['makes what is missing at once', { wanted: 10 }, '+7'],
    ['makes no more than the bound at once', { wanted: 100 }, `+${MOST_AT_ONCE}`],
    [
      'waits while the bound is reached',
      { wanted: 100, machines: Array.from({ length: MOST_AT_ONCE }, (_, i) => machine(`m${i}`, booting)) },
      '+0',
    ],
    ['does not count what is being deleted', { machines: [machine('a', { isDeleting: true }), middle, young] }, '+1'],
    ['removes the oldest', { wanted: 2 }, '+0 -a'],
    ['removes the newest', { wanted: 2, policy: 'Newest' }, '+0 -ccc'],
    [
      'removes one that is failed before the oldest',
      { wanted: 2, machines: [old, middle, machine('ccc', { isFailed: true })] },
      '+0 -ccc',
    ],
    [
      'removes one that is not ready before one that is not available',
      { wanted: 1, machines: [old, machine('bb', { isAvailable: false }), machine('ccc', booting)] },
      '+0 -ccc -bb',
    ],
    [
      'removes one that a person marked before all others',
      { wanted: 2, machines: [old, machine('bb', { isMarked: true }), machine('ccc', booting)] },
      '+0 -bb',
    ],
    ['keeps what has no available replacement', { wanted: 1, spare: 1 }, '+0 -a held 1'],
    ['keeps everything available while nothing is spare', { wanted: 0, spare: 0 }, '+0 held 3'],
    ['keeps everything available while too few are available', { wanted: 0, spare: -2 }, '+0 held 3'],
    [
      'removes what is not available whatever is spare',
      { wanted: 1, spare: 0, machines: [old, middle, machine('ccc', booting)] },
      '+0 -ccc held 1',
    ],
  ] as const satisfies readonly (readonly [string, Partial<ReplicaRequest>, string])[])
    it(what, () => assert.equal(change(over), expected))

  it('removes the same machines at random, however often it is asked', () => {
    const request = { wanted: 1, policy: 'Random' } as const
    assert.equal(change(request), change({ ...request, machines: [young, old, middle] }))
  })
})
