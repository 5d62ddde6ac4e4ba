// What a plan says about drift, as a table over plans as `terraform show -json` prints them.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { CheckedState, RunRecord } from '../../record/record.ts'
import { movedSince, toReport } from './check-drift.ts'
import { findDrift, isDriftAlone } from './drift.ts'

type Values = Readonly<Record<string, unknown>> | null
const resource = (address: string, actions: readonly string[], before: Values, after: Values, unknown = {}) => ({
  address,
  mode: address.startsWith('data.') ? 'data' : 'managed',
  change: { actions, before, after, after_unknown: unknown },
})
const relevant = (...addresses: readonly string[]) => addresses.map((one) => ({ resource: one, attribute: ['id'] }))
const update = (address: string, before: Values, after: Values, unknown = {}) =>
  resource(address, ['update'], before, after, unknown)

const DRIFTED = update('page.a', { text: 'ours', size: 1 }, { text: 'theirs', size: 1 })
const UNDONE = update('page.a', { text: 'theirs', size: 1 }, { text: 'ours', size: 1 })
const data = (ami: string, key?: string) => ({
  address: key === undefined ? 'data.ami.x' : `module.m.data.ami.x["${key}"]`,
  mode: 'data',
  values: { id: ami, filter: { name: 'x' } },
})
const prior = (ami: string) => ({ values: { root_module: { resources: [data(ami)] } } })
/** With the type beside a value, as a state has it where the schema leaves the type open. */
const stateWith = (ami: string) =>
  JSON.stringify({
    resources: [
      {
        mode: 'data',
        type: 'ami',
        name: 'x',
        instances: [
          { attributes: { id: ami, filter: { value: { name: 'x' }, type: ['object', { name: 'string' }] } } },
        ],
      },
    ],
  })
const NODE = update('node.n', { ami: 'ami-1' }, { ami: 'ami-2' })

interface Case {
  readonly name: string
  readonly plan: object
  readonly state?: string
  /** The inputs are not those that were applied. */
  readonly isOther?: true
  readonly result: string
  readonly causes?: readonly string[]
  readonly ignored?: number
  readonly sources?: readonly string[]
}

const CASES: readonly Case[] = [
  { name: 'nothing differs', plan: {}, result: 'InSync' },
  {
    name: 'resources that are read or kept are no changes',
    plan: { resource_changes: [resource('a.b', ['no-op'], {}, {}), resource('data.x.y', ['read'], null, {})] },
    result: 'InSync',
  },
  {
    name: 'an attribute that somebody changed is drift',
    plan: { resource_drift: [DRIFTED], resource_changes: [UNDONE] },
    result: 'Drifted',
    causes: ['Drift'],
  },
  {
    name: 'a resource that somebody deleted is drift',
    plan: {
      resource_drift: [resource('page.a', ['delete'], { id: 'i-1', text: 'ours', note: '' }, null)],
      resource_changes: [resource('page.a', ['create'], null, { text: 'ours', note: null }, { id: true })],
    },
    result: 'Drifted',
    causes: ['Drift'],
  },
  {
    name: 'what depends on a resource that is made again is drift too',
    plan: {
      resource_drift: [resource('page.a', ['delete'], { id: 'i-1' }, null)],
      resource_changes: [
        resource('page.a', ['create'], null, {}, { id: true }),
        update('page.b', { of: 'i-1' }, {}, { of: true }),
      ],
      relevant_attributes: relevant('page.a'),
    },
    result: 'Drifted',
    causes: ['Drift', 'Drift'],
  },
  {
    name: 'drift that an apply leaves alone is ignored',
    plan: { resource_drift: [DRIFTED], resource_changes: [resource('page.a', ['no-op'], {}, {})] },
    result: 'InSync',
    ignored: 1,
  },
  {
    name: 'ignored drift beside a change of the inputs stays ignored',
    plan: { resource_drift: [DRIFTED], resource_changes: [NODE] },
    isOther: true,
    result: 'PendingChange',
    causes: ['Pending'],
    ignored: 1,
  },
  {
    name: 'a change by other inputs is pending',
    plan: { resource_changes: [NODE] },
    isOther: true,
    result: 'PendingChange',
    causes: ['Pending'],
  },
  {
    name: 'drift and a change by other inputs are separate',
    plan: { resource_drift: [DRIFTED], resource_changes: [UNDONE, NODE] },
    isOther: true,
    result: 'Drifted',
    causes: ['Drift', 'Pending'],
  },
  {
    name: 'a data source that resolved differently is upstream, by name',
    plan: { resource_changes: [NODE], prior_state: prior('ami-2'), relevant_attributes: relevant('data.ami.x') },
    state: stateWith('ami-1'),
    result: 'UpstreamMoved',
    causes: ['Upstream'],
    sources: ['data.ami.x'],
  },
  {
    name: 'a data source that no change depends on is no source',
    plan: { resource_drift: [DRIFTED], resource_changes: [UNDONE], prior_state: prior('ami-2') },
    state: stateWith('ami-1'),
    result: 'Drifted',
    causes: ['Drift'],
  },
  {
    name: 'the same value with its type beside it is the same',
    plan: { resource_changes: [NODE], prior_state: prior('ami-1'), relevant_attributes: relevant('data.ami.x') },
    state: stateWith('ami-1'),
    result: 'UpstreamMoved',
    causes: ['Upstream'],
  },
  {
    name: 'a change without drift and with the applied inputs is upstream, whatever it comes from',
    plan: { resource_changes: [NODE] },
    result: 'UpstreamMoved',
    causes: ['Upstream'],
  },
  {
    name: 'a drifted resource that gets another value than it had is not drift alone',
    plan: {
      resource_drift: [update('node.n', { ami: 'ami-1', tag: 'ours' }, { ami: 'ami-1', tag: 'theirs' })],
      resource_changes: [update('node.n', { ami: 'ami-1', tag: 'theirs' }, { ami: 'ami-2', tag: 'ours' })],
    },
    result: 'UpstreamMoved',
    causes: ['Upstream'],
  },
  {
    name: 'a drifted resource that would be destroyed is not drift',
    plan: { resource_drift: [DRIFTED], resource_changes: [resource('page.a', ['delete'], { text: 'theirs' }, null)] },
    result: 'UpstreamMoved',
    causes: ['Upstream'],
  },
  {
    name: 'drift beside upstream movement has both',
    plan: {
      resource_drift: [DRIFTED],
      resource_changes: [UNDONE, NODE],
      prior_state: prior('ami-2'),
      relevant_attributes: relevant('data.ami.x', 'page.a'),
    },
    state: stateWith('ami-1'),
    result: 'Drifted',
    causes: ['Drift', 'Upstream'],
    sources: ['data.ami.x'],
  },
  {
    name: 'an output that follows a moved data source is upstream',
    plan: {
      output_changes: { ami: { actions: ['update'], before: 'ami-1', after: 'ami-2' }, same: { actions: ['no-op'] } },
      prior_state: prior('ami-2'),
      relevant_attributes: relevant('data.ami.x'),
    },
    state: stateWith('ami-1'),
    result: 'UpstreamMoved',
    causes: ['Upstream'],
    sources: ['data.ami.x'],
  },
]

describe('What a plan says about drift', () => {
  for (const { name, plan, state, isOther, result, causes = [], ignored = 0, sources = [] } of CASES)
    it(name, () => {
      const found = findDrift(plan, state, isOther !== true)
      const answer = [found.result, found.changes.map(({ cause }) => cause), found.ignored, found.sources]
      assert.deepEqual(answer, [result, causes, ignored, sources])
    })

  it('is drift alone only when nothing else would be changed', () => {
    const alone = (resource_changes: readonly object[]) =>
      isDriftAlone(findDrift({ resource_drift: [DRIFTED], resource_changes }, undefined, true))
    assert.deepEqual([alone([UNDONE]), alone([UNDONE, NODE]), alone([])], [true, false, false])
  })

  it('never takes a known value that was not there before for drift', () => {
    const value = fc.string({ minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(value, value, value, (recorded, actual, planned) => {
        const drift = update('page.a', { text: recorded }, { text: actual })
        const change = update('page.a', { text: actual }, { text: planned })
        const { changes } = findDrift({ resource_drift: [drift], resource_changes: [change] }, undefined, true)
        assert.equal(changes[0]?.cause === 'Drift', planned === recorded || planned === actual)
      }),
    )
  })

  it('reads anything that is not a plan as nothing', () => {
    fc.assert(fc.property(fc.jsonValue(), fc.string(), (plan, state) => void findDrift(plan, state, true)))
  })

  it('is reported with counts of all and the first twenty by redacted address', () => {
    const many = Array.from({ length: 30 }, (_, i) => update(`node.hush[${i}]`, { ami: '1' }, { ami: '2' }))
    const found = findDrift({ resource_changes: many }, undefined, true)
    const report = toReport(found, CHECKED, 'run', 'now', (text) => text.replace('hush', '***'))
    assert.deepEqual(report.counts, { drifted: 0, pending: 0, upstream: 30 })
    assert.deepEqual([report.changes.length, report.changes[0]?.address], [20, 'node.***[0]'])
  })
})

const CHECKED: CheckedState = { applied: 'a', inputs: 'h', isAsApplied: true, lineage: 'l', serial: 3 }
const stateText = (serial: number, lineage = 'l') => JSON.stringify({ version: 4, serial, lineage, resources: [] })

describe('A drift check is discarded', () => {
  const target = (over: object) => ({ applied: { runId: 'a' }, ...over }) as unknown as RunRecord
  for (const [what, of, record, state, why] of [
    ['never when all is as it was', CHECKED, target({}), stateText(3), undefined],
    ['when the apply has run meanwhile', CHECKED, target({ applied: { runId: 'b' } }), stateText(3), /has run/],
    ['when its record is gone', CHECKED, undefined, stateText(3), /has run/],
    ['when a run is in progress', CHECKED, target({ run: { phase: 'Plan' } }), stateText(3), /in progress/],
    ['when the state moved', CHECKED, target({}), stateText(4), /moved from 3 to 4/],
    ['when the state has another lineage', CHECKED, target({}), stateText(3, 'other'), /moved/],
    ['when the state is gone', CHECKED, target({}), undefined, /to nothing/],
    [
      'by no serial where Terraform keeps the state',
      { ...CHECKED, serial: undefined },
      target({}),
      undefined,
      undefined,
    ],
  ] as const)
    it(what, () => {
      const found = movedSince(of as CheckedState, record, state)
      if (why === undefined) assert.equal(found, undefined)
      else assert.match(found ?? '', why)
    })
})
