import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { defaultLimits, type Limits } from './limits.ts'
import { LONG_MS, type Place, type RunningPlace, schedule, type WaitingPlace } from './schedule.ts'

const JOB = defaultLimits('job')
const NOW = 10_000_000

/** `a/x`: namespace a, name x. A third part is the identity, `drift`, `destroy` and `quick` are what they say. */
function place(text: string): Place {
  const [id = '', ...rest] = text.split(' ')
  const identity = rest.find((word) => word.startsWith('by:')) ?? `by:${id.split('/')[0]}`
  return {
    id,
    namespace: id.split('/')[0]!,
    identity,
    isDrift: rest.includes('drift'),
    isDestroy: rest.includes('destroy'),
    isQuick: rest.includes('quick'),
  }
}

const waits = (texts: readonly string[], sinceMs = NOW): readonly WaitingPlace[] =>
  texts.map((text, number) => ({ ...place(text), number, sinceMs }))
const runs = (texts: readonly string[], ageMs = 0): readonly RunningPlace[] =>
  texts.map((text) => ({ ...place(text), sinceMs: NOW - ageMs }))
const many = <T>(count: number, text: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => text(i))

interface Case {
  readonly name: string
  readonly waiting: readonly WaitingPlace[]
  readonly running?: readonly RunningPlace[]
  readonly served?: Readonly<Record<string, number>>
  readonly limits?: Partial<Limits>
  readonly start: readonly string[]
  readonly reasons?: Readonly<Record<string, string>>
}

const CASES: readonly Case[] = [
  { name: 'starts nothing when nobody waits', waiting: [], start: [] },
  { name: 'starts all that find a slot, eldest first', waiting: waits(['a/1', 'a/2']), start: ['a/1', 'a/2'] },
  {
    name: 'alternates between namespaces',
    waiting: waits(['a/1', 'a/2', 'a/3', 'b/1', 'c/1']),
    limits: { total: 3 },
    start: ['a/1', 'b/1', 'c/1'],
    reasons: { 'a/2': 'AllSlotsTaken', 'a/3': 'AllSlotsTaken' },
  },
  {
    name: 'gives the next slot to the namespace that was served longest ago',
    waiting: waits(['a/1', 'b/1']),
    served: { a: 7, b: 3 },
    limits: { total: 1 },
    start: ['b/1'],
    reasons: { 'a/1': 'AllSlotsTaken' },
  },
  {
    name: 'skips a run whose identity is at its limit, and starts the one behind it',
    waiting: waits(['a/1 by:slow', 'b/1 by:fast']),
    running: runs(many(5, (i) => `a/r${i} by:slow`)),
    start: ['b/1'],
    reasons: { 'a/1': 'IdentityLimit' },
  },
  {
    name: 'holds a namespace at its limit whatever its identities',
    waiting: waits(['a/1 by:x', 'b/1']),
    running: runs(many(10, (i) => `a/r${i} by:${i}`)),
    start: ['b/1'],
    reasons: { 'a/1': 'NamespaceLimit' },
  },
  {
    name: 'starts a destroy before a drift check that waited longer',
    waiting: waits(['a/check drift', 'b/gone destroy']),
    limits: { total: 1 },
    start: ['b/gone'],
    reasons: { 'a/check': 'AllSlotsTaken' },
  },
  {
    name: 'starts the destroy of a deleted cluster before applies of its namespace that waited longer',
    waiting: waits(['a/1', 'a/2', 'a/gone destroy']),
    limits: { total: 2 },
    start: ['a/gone', 'a/1'],
    reasons: { 'a/2': 'AllSlotsTaken' },
  },
  {
    name: 'lets the destroys of one namespace delay no other',
    waiting: waits(['b/1', 'a/gone destroy', 'a/gone-too destroy']),
    limits: { total: 2 },
    start: ['a/gone', 'b/1'],
    reasons: { 'a/gone-too': 'AllSlotsTaken' },
  },
  {
    name: 'starts a drift check that is an hour old like any other run',
    waiting: [...waits(['a/check drift'], NOW - 3_600_000), { ...place('a/apply'), number: 9, sinceMs: NOW }],
    limits: { total: 1 },
    start: ['a/check'],
    reasons: { 'a/apply': 'AllSlotsTaken' },
  },
  {
    name: 'runs two drift checks at once and no more',
    waiting: waits(['a/1 drift', 'b/1 drift', 'c/1 drift']),
    start: ['a/1', 'b/1'],
    reasons: { 'c/1': 'AllSlotsTaken' },
  },
  {
    name: 'keeps the last slot of an identity for a run known to be quick',
    waiting: waits(['a/long', 'a/short quick']),
    running: runs(many(4, (i) => `a/r${i}`)),
    start: ['a/short'],
    reasons: { 'a/long': 'IdentityLimit' },
  },
  {
    name: 'keeps the last of all slots for a run known to be quick',
    waiting: waits(['x/long', 'y/short quick']),
    running: runs(many(19, (i) => `n${i}/r`)),
    start: ['y/short'],
    reasons: { 'x/long': 'AllSlotsTaken' },
  },
  {
    name: 'frees a slot of this machine when a run has lasted a minute',
    waiting: waits(['x/1', 'y/1', 'z/1']),
    running: runs(['a/1', 'b/1'], LONG_MS),
    limits: { total: 2, overtime: 2 },
    start: ['x/1'],
    reasons: { 'y/1': 'AllSlotsTaken', 'z/1': 'AllSlotsTaken' },
  },
  {
    name: 'has no more runs in overtime than it may',
    waiting: waits(['x/1 quick']),
    running: runs(['a/1', 'b/1', 'c/1', 'd/1'], LONG_MS),
    limits: { total: 2, overtime: 2 },
    start: [],
    reasons: { 'x/1': 'AllSlotsTaken' },
  },
  {
    name: 'gives each of 100 runs with one slow identity only the slots of that identity',
    waiting: waits([...many(95, (i) => `slow/r${i} by:slow`), ...many(5, (i) => `fast/r${i} quick`)]),
    start: ['slow/r0', 'fast/r0', 'slow/r1', 'fast/r1', 'slow/r2', 'fast/r2', 'slow/r3', 'fast/r3', 'fast/r4'],
    reasons: Object.fromEntries(many(91, (i) => `slow/r${i + 4}`).map((id) => [id, 'IdentityLimit'])),
  },
]

describe('The limits', () => {
  for (const [engine, total, limits] of [
    ['job', undefined, { total: 20, overtime: 0, perNamespace: 10, perIdentity: 5, drift: 2 }],
    ['local', undefined, { ...defaultLimits('local', availableParallelism()) }],
    ['local', 3, { total: 3, overtime: 3, perNamespace: 10, perIdentity: 5, drift: 2 }],
  ] as const)
    it(`of the engine ${engine} are ${JSON.stringify(limits)} ${total === undefined ? 'by default' : 'with that total'}`, () =>
      assert.deepEqual(defaultLimits(engine, total), limits))
})

describe('The schedule', () => {
  for (const { name, waiting, running = [], served = {}, limits = {}, start, reasons = {} } of CASES)
    it(name, () => {
      const state = { waiting, running, served: new Map(Object.entries(served)), nowMs: NOW }
      const decided = schedule(state, { ...JOB, ...limits })
      assert.deepEqual(
        decided.start.map(({ id }) => id),
        start,
      )
      assert.deepEqual(Object.fromEntries(decided.waits), reasons)
    })

  it('lets 10-second runs pass a slow identity with 100 runs of 20 minutes each', () => {
    const waited = simulate(
      [
        ...many(100, (i) => ({ text: `slow/r${i} by:slow`, atSeconds: 0, takesSeconds: 1200 })),
        ...many(20, (i) => ({ text: `fast/r${i}`, atSeconds: 60 * i, takesSeconds: 10 })),
      ],
      JOB,
    )
    const fast = [...waited].filter(([id]) => id.startsWith('fast/')).map(([, seconds]) => seconds)
    assert.equal(fast.length, 20)
    assert.equal(Math.max(...fast), 0, 'none of them waits')
  })

  it('is fair to 100 runs that come at once, 60 of them of one slow identity', () => {
    /** Namespace, what the runs are, how many, how long each takes; how long they wait, by the median and at most. */
    const table = [
      ['slow', 'by:slow', 60, 1200, 8400, 16_810],
      ['slow', 'by:other', 5, 10, 30, 50],
      ['slow', 'by:third destroy', 5, 60, 0, 60],
      ['b', 'quick', 10, 10, 10, 20],
      ['c', '', 10, 300, 300, 600],
      ['d', 'destroy', 5, 60, 0, 60],
      ['e', 'drift', 5, 30, 50, 80],
    ] as const
    const arrivals = table.flatMap(([namespace, what, runs, takesSeconds], row) =>
      many(runs, (i) => ({ text: `${namespace}/${row}-${i} ${what}`, atSeconds: 0, takesSeconds })),
    )
    assert.equal(arrivals.length, 100)
    const waited = simulate(arrivals, JOB)
    const found = table.map(([namespace, what, runs, takes], row) => {
      const seconds = many(runs, (i) => waited.get(`${namespace}/${row}-${i}`)!).sort((one, other) => one - other)
      return [namespace, what, runs, takes, seconds[Math.floor(runs / 2)], seconds.at(-1)]
    })
    assert.deepEqual(found, table)
  })

  it('lets a quick run pass on two cores that are busy for 20 minutes', () => {
    const waited = simulate(
      [
        ...many(10, (i) => ({ text: `a/r${i}`, atSeconds: 0, takesSeconds: 1200 })),
        ...many(10, (i) => ({ text: `a/q${i} quick`, atSeconds: 200 + 30 * i, takesSeconds: 10 })),
      ],
      defaultLimits('local', 2),
    )
    assert.equal(Math.max(...many(10, (i) => `a/q${i}`).map((id) => waited.get(id)!)), 0)
  })

  it('never exceeds a limit and starves nobody, whatever comes', () => {
    const arrival = fc.record({
      namespace: fc.integer({ min: 0, max: 3 }),
      identity: fc.integer({ min: 0, max: 2 }),
      kind: fc.constantFrom('', ' quick', ' drift', ' destroy'),
      atSeconds: fc.integer({ min: 0, max: 300 }),
      takesSeconds: fc.integer({ min: 1, max: 200 }),
    })
    const limits = fc.record({
      total: fc.integer({ min: 1, max: 6 }),
      overtime: fc.integer({ min: 0, max: 4 }),
      perNamespace: fc.integer({ min: 1, max: 5 }),
      perIdentity: fc.integer({ min: 1, max: 5 }),
      drift: fc.integer({ min: 1, max: 2 }),
    })
    fc.assert(
      fc.property(fc.array(arrival, { maxLength: 40 }), limits, (arrivals, bounds) => {
        const jobs = arrivals.map(({ namespace, identity, kind, ...times }, i) => ({
          ...times,
          text: `n${namespace}/r${i} by:${identity}${kind}`,
        }))
        assert.equal(simulate(jobs, bounds).size, jobs.length, 'every run starts')
      }),
      { numRuns: 150 },
    )
  })
})

interface Arrival {
  readonly text: string
  readonly atSeconds: number
  readonly takesSeconds: number
}

/** Plays the queue second by second, checks every limit in each of them, and returns how long each run waited. */
function simulate(arrivals: readonly Arrival[], limits: Limits): ReadonlyMap<string, number> {
  const waited = new Map<string, number>()
  const served = new Map<string, number>()
  const endsAt = new Map<string, number>()
  let waiting: WaitingPlace[] = []
  let running: RunningPlace[] = []
  const lastSeconds = 1 + Math.max(0, ...arrivals.map(({ atSeconds }) => atSeconds))
  const work = arrivals.reduce((sum, { takesSeconds }) => sum + takesSeconds, 0)
  for (let second = 0; second <= lastSeconds + work && waited.size < arrivals.length; second++) {
    const nowMs = second * 1000
    const isEvent =
      running.some(({ id, sinceMs }) => endsAt.get(id) === second || nowMs - sinceMs === LONG_MS) ||
      arrivals.some(({ atSeconds }) => atSeconds === second)
    if (!isEvent) continue
    running = running.filter(({ id }) => endsAt.get(id)! > second)
    for (const [number, { text, atSeconds }] of arrivals.entries())
      if (atSeconds === second) waiting.push({ ...place(text), number, sinceMs: nowMs })
    for (const one of schedule({ waiting, running, served, nowMs }, limits).start) {
      waiting = waiting.filter(({ id }) => id !== one.id)
      running = [...running, { ...one, sinceMs: nowMs }]
      waited.set(one.id, (nowMs - one.sinceMs) / 1000)
      served.set(one.namespace, 1 + Math.max(0, ...served.values()))
      endsAt.set(one.id, second + arrivals[one.number]!.takesSeconds)
    }
    check(running, nowMs, limits)
  }
  return waited
}

function check(running: readonly RunningPlace[], nowMs: number, limits: Limits): void {
  const most = (key: (one: RunningPlace) => string) =>
    Math.max(0, ...Object.values(Object.groupBy(running, key)).map((group) => group!.length))
  const long = running.filter(({ sinceMs }) => nowMs - sinceMs >= LONG_MS).length
  assert.ok(running.length - Math.min(long, limits.overtime) <= limits.total)
  assert.ok(running.length <= limits.total + limits.overtime)
  assert.ok(most(({ namespace }) => namespace) <= limits.perNamespace)
  assert.ok(most(({ identity }) => identity) <= limits.perIdentity)
  assert.ok(running.filter(({ isDrift }) => isDrift).length <= limits.drift)
}
