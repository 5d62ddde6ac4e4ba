// The summary of a plan: attributes as Terraform shows them, reasons, moves, and no secret wherever it stands.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Progress } from '../../messages.ts'
import type { ApprovalPolicy } from '../../record/record.ts'
import { createRedactor } from '../../secrets.ts'
import { listChanges } from './changes.ts'
import { readPlanJson } from './plan-json.ts'
import { packPlanText, planHash, policyHash, propose, toPlanText, unpackPlanText } from './proposal.ts'

const SECRET = 'hush-hush'
const resource = (name: string, actions: readonly string[], change: object = {}, more: object = {}) => ({
  address: `terraform_data.${name}`,
  mode: 'managed',
  type: 'terraform_data',
  name,
  change: {
    actions,
    before: null,
    after: null,
    after_unknown: {},
    before_sensitive: {},
    after_sensitive: {},
    ...change,
  },
  ...more,
})

const PLAN = {
  variables: { token: { value: 'from-variable' } },
  configuration: { root_module: { variables: { token: { sensitive: true } } } },
  resource_changes: [
    resource('same', ['no-op'], { before: { id: '1' }, after: { id: '1' } }),
    resource('new', ['no-op'], { before: { id: '1' }, after: { id: '1' } }, { previous_address: 'terraform_data.old' }),
    resource('gone', ['delete'], { before: { id: '7', input: null } }, { action_reason: 'delete_because_count_index' }),
    resource(
      'vpc',
      ['delete', 'create'],
      {
        before: { id: '1', input: { cidr: '10.0.0.0/16', s: SECRET, zones: ['a', 'b'] }, output: { s: SECRET } },
        after: { input: { cidr: '10.1.0.0/16', s: SECRET, zones: ['a', 'c'] } },
        after_unknown: { id: true, output: true },
        before_sensitive: { input: { s: true } },
        after_sensitive: { input: { s: true } },
        replace_paths: [['input', 'cidr']],
      },
      { action_reason: 'replace_because_cannot_update' },
    ),
  ],
  output_changes: {
    text: {
      actions: ['create'],
      before: null,
      after: 'from-variable',
      after_unknown: false,
      before_sensitive: false,
      after_sensitive: false,
    },
  },
}

const POLICY: ApprovalPolicy = { mode: 'Manual', guard: [], expirySeconds: 60 }
const inputOf = (plan: unknown, salt = 'salt') => ({
  detail: readPlanJson(plan),
  policy: POLICY,
  salt,
  runId: 'run',
  verb: 'apply' as const,
  inputs: 'inputs',
  state: { lineage: 'l', serial: 1 },
  nowMs: 0,
  redact: (text: string) => text,
})

describe('The summary of a plan', () => {
  const detail = readPlanJson(PLAN)
  const text = toPlanText(detail, createRedactor(detail.secrets))

  it('has what is done to which resource, and why', () => {
    assert.deepEqual(
      text.changes.map(({ lines: _lines, ...change }) => change),
      [
        { address: 'terraform_data.new', action: 'move', from: 'terraform_data.old' },
        { address: 'terraform_data.gone', action: 'delete', reason: 'its index is out of range for count' },
        { address: 'terraform_data.vpc', action: 'replace', reason: 'it cannot be updated in place: input.cidr' },
      ],
    )
    const progress = new Progress()
    for (const change of detail.changes) progress.add({ is: 'planned', ...change })
    assert.deepEqual(progress.counts, { add: 0, change: 0, destroy: 1, replace: 1, moved: 1 })
  })

  it('shows attributes as Terraform does', () => {
    assert.deepEqual(text.changes.at(-1)!.lines, [
      '~ id     = "1" -> (known after apply)',
      '~ input  = {',
      '    ~ cidr  = "10.0.0.0/16" -> "10.1.0.0/16" # forces replacement',
      '    ~ zones = [',
      '        ~ "b" -> "c"',
      '          # (1 unchanged element hidden)',
      '      ]',
      '      # (1 unchanged attribute hidden)',
      '  }',
      '~ output = {"s":"…redacted…"} -> (known after apply)',
    ])
    assert.deepEqual(text.changes[1]!.lines, ['- id = "7" -> null'])
  })

  it('has no secret, marked or not', () => {
    const stored = JSON.stringify([unpackPlanText(packPlanText(text)), propose(inputOf(PLAN))])
    for (const secret of [SECRET, 'from-variable']) assert.ok(!stored.includes(secret), stored)
  })

  it('lists a bounded number, the most destructive first', () => {
    const many = Array.from({ length: 50 }, (_, i) => ({ address: `a.b[${i}]`, action: 'create' }))
    const { listed, more } = listChanges([...many, { address: 'c.d', action: 'replace' }])
    assert.deepEqual([listed[0]!.address, listed.length, more], ['c.d', 20, 31])
  })
})

describe('The hash of a plan', () => {
  const change = fc.record({
    name: fc.constantFrom('a', 'b'),
    actions: fc.constantFrom(['create'], ['update'], ['delete'], ['delete', 'create']),
    before: fc.oneof(fc.constant(null), fc.record({ x: fc.constantFrom('1', '2', 3) })),
    after: fc.oneof(fc.constant(null), fc.record({ x: fc.constantFrom('1', '2', 3) })),
    sensitive: fc.constantFrom({}, { x: true }),
  })
  const plan = fc.array(change, { maxLength: 3 }).map((changes) => ({
    resource_changes: changes.map(({ name, actions, before, after, sensitive }) =>
      resource(name, actions, { before, after, after_sensitive: sensitive }),
    ),
  }))

  it('is the same for the same plan and another for every other one', () => {
    fc.assert(
      fc.property(plan, plan, (one, other) => {
        const isSame = JSON.stringify(one) === JSON.stringify(other)
        assert.equal(planHash(inputOf(one)) === planHash(inputOf(other)), isSame)
        assert.equal(planHash(inputOf(one)), planHash(inputOf(structuredClone(one))))
      }),
    )
  })

  it('is another with other inputs, another state or another salt', () => {
    const base = inputOf(PLAN)
    const all = [
      base,
      { ...base, inputs: 'others' },
      { ...base, state: { lineage: 'l', serial: 2 } },
      { ...base, state: { lineage: 'm', serial: 1 } },
      { ...base, state: undefined },
      { ...base, salt: 'other' },
      { ...base, verb: 'destroy' as const },
    ]
    assert.equal(new Set(all.map(planHash)).size, all.length)
  })

  it('of a policy does not depend on the order of the guard', () => {
    assert.equal(policyHash({ mode: 'Auto', guard: ['a', 'b'] }), policyHash({ mode: 'Auto', guard: ['b', 'a'] }))
    assert.notEqual(policyHash({ mode: 'Auto', guard: ['a'] }), policyHash({ mode: 'Manual', guard: ['a'] }))
  })
})
