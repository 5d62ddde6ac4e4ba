import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { affinityMatches, canRunOn, type PlacementNode } from './match.ts'
import { type Affinity, checkNodeSelector, mergeGuard, type NodeSelectorTerm } from './placement.ts'

const required = (...nodeSelectorTerms: NodeSelectorTerm[]): Affinity => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
})
const term = (...matchExpressions: NonNullable<NodeSelectorTerm['matchExpressions']>): NodeSelectorTerm => ({
  matchExpressions,
})
const isIn = (key: string, ...values: string[]) => ({ key, operator: 'In', values })
const absent = (key: string) => ({ key, operator: 'DoesNotExist' })

const nodes: Record<string, PlacementNode> = {
  'managed ng-a': { labels: { 'eks.amazonaws.com/nodegroup': 'ng-a' } },
  'managed ng-b': { labels: { 'eks.amazonaws.com/nodegroup': 'ng-b' } },
  'a Karpenter node': { labels: { 'karpenter.sh/nodepool': 'default' } },
  'a Karpenter node with role=ops': { labels: { 'karpenter.sh/nodepool': 'ops', role: 'ops' } },
  'a node of an alpha Karpenter': { labels: { 'karpenter.sh/provisioner-name': 'default' } },
}
const inputs = {
  'two terms (the guide)': required(
    term(absent('karpenter.sh/provisioner-name')),
    term(isIn('eks.amazonaws.com/nodegroup', 'ng-a')),
  ),
  'one term with everything': required(
    term(
      absent('karpenter.sh/nodepool'),
      absent('karpenter.sh/provisioner-name'),
      isIn('eks.amazonaws.com/nodegroup', 'ng-a'),
    ),
  ),
  'role in ops (the module example)': required(term(isIn('role', 'ops'))),
}
// As measured with the scheduler's own matcher: before the guard, then after it.
const measured: readonly (readonly [string, readonly boolean[], readonly boolean[]])[] = [
  ['managed ng-a', [true, true, false], [true, true, false]],
  ['managed ng-b', [true, false, false], [true, false, false]],
  ['a Karpenter node', [true, false, false], [false, false, false]],
  ['a Karpenter node with role=ops', [true, false, true], [false, false, false]],
  ['a node of an alpha Karpenter', [false, false, false], [false, false, false]],
]

describe('placement guard', () => {
  for (const [name, before, after] of measured) {
    Object.entries(inputs).forEach(([input, affinity], i) => {
      it(`${name}, ${input}: ${before[i]} as written, ${after[i]} with the guard`, () => {
        assert.equal(affinityMatches(affinity, nodes[name]!), before[i])
        assert.equal(affinityMatches(mergeGuard(affinity), nodes[name]!), after[i])
      })
    })
  }

  it('stands alone when nobody wrote an affinity', () => {
    const guarded = mergeGuard()
    assert.equal(affinityMatches(guarded, nodes['managed ng-a']!), true)
    assert.equal(affinityMatches(guarded, nodes['a Karpenter node']!), false)
  })

  it('keeps preferences and pod rules, and changes nothing the second time', () => {
    const affinity = {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname' }] },
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: term(isIn('disk', 'ssd')) }],
      },
    }
    const once = mergeGuard(affinity)
    assert.deepEqual(once['podAntiAffinity'], affinity.podAntiAffinity)
    assert.deepEqual(
      once.nodeAffinity?.['preferredDuringSchedulingIgnoredDuringExecution'],
      affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution,
    )
    assert.deepEqual(mergeGuard(once), once)
  })

  for (const [what, affinity] of [
    ['asks only for nodes that Karpenter makes', required(term({ key: 'karpenter.sh/nodepool', operator: 'Exists' }))],
    ['has no terms', required()],
    ['is a text', 'everywhere' as unknown as Affinity],
    ['has a list where a map belongs', { nodeAffinity: [] } as unknown as Affinity],
    [
      'has a text where the rules belong',
      { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: 'all' } } as unknown as Affinity,
    ],
    ['has only empty terms, which match no node', required({}, { matchExpressions: [] })],
    [
      'is not a list',
      {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: 'all' } },
      } as unknown as Affinity,
    ],
  ] as const) {
    it(`refuses an affinity that ${what}`, () => {
      assert.throws(() => mergeGuard(affinity), { code: 'CAPT_PLACEMENT_IMPOSSIBLE' })
    })
  }

  it('refuses a node selector on a label that Karpenter gives its nodes', () => {
    assert.throws(() => checkNodeSelector({ 'karpenter.sh/nodepool': 'default' }), {
      code: 'CAPT_PLACEMENT_IMPOSSIBLE',
    })
    checkNodeSelector({ role: 'ops' })
  })

  it('never allows a Karpenter node, and never takes away or adds another node, whatever the affinity', () => {
    const key = fc.constantFrom('role', 'zone', 'karpenter.sh/nodepool', 'karpenter.sh/provisioner-name', 'cpu')
    const value = fc.constantFrom('ops', 'a', '4', '16', 'x')
    const expression = fc.record({
      key,
      operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'),
      values: fc.array(value, { minLength: 1, maxLength: 2 }),
    })
    const field = fc.record({
      key: fc.constant('metadata.name'),
      operator: fc.constantFrom('In', 'NotIn'),
      values: fc.array(value, { minLength: 1, maxLength: 2 }),
    })
    const someTerm = fc.record(
      { matchExpressions: fc.array(expression, { maxLength: 3 }), matchFields: fc.array(field, { maxLength: 1 }) },
      { requiredKeys: [] },
    )
    const someNode = fc.record({ name: value, labels: fc.dictionary(key, value, { maxKeys: 4 }) })
    fc.assert(
      fc.property(
        fc.array(someTerm, { maxLength: 3 }),
        fc.array(someNode, { minLength: 1, maxLength: 6 }),
        (terms, some) => {
          const affinity = required(...terms)
          let guarded: Affinity
          try {
            guarded = mergeGuard(affinity)
          } catch {
            // Refused means: no node could have satisfied both the affinity and the guard.
            return some.every((node) => isKarpenter(node) || !affinityMatches(affinity, node))
          }
          return some.every(
            (node) => affinityMatches(guarded, node) === (affinityMatches(affinity, node) && !isKarpenter(node)),
          )
        },
      ),
      { numRuns: 500 },
    )
  })
})

const isKarpenter = ({ labels }: PlacementNode) =>
  'karpenter.sh/nodepool' in labels || 'karpenter.sh/provisioner-name' in labels

describe('placement against node pools', () => {
  const pool = { name: 'ops', labels: { role: 'ops' }, taints: [{ key: 'role', value: 'ops', effect: 'NoSchedule' }] }
  const tolerations = [{ key: 'role', operator: 'Equal', value: 'ops', effect: 'NoSchedule' }]

  it('allows the module example, whose controller is aimed at the nodes of the example Provisioner', () => {
    assert.equal(canRunOn({ affinity: inputs['role in ops (the module example)'], tolerations }, pool), true)
    assert.equal(canRunOn({ nodeSelector: { role: 'ops' }, tolerations }, pool), true)
  })

  it('refuses a node whose taint is not tolerated, or whose labels are not selected', () => {
    assert.equal(canRunOn({ nodeSelector: { role: 'ops' } }, pool), false)
    assert.equal(canRunOn({ nodeSelector: { role: 'system' }, tolerations }, pool), false)
  })

  it('reads tolerations as the scheduler does', () => {
    const node = { labels: {}, taints: [{ key: 'a', value: '1', effect: 'NoSchedule' }] }
    assert.equal(canRunOn({}, node), false)
    assert.equal(canRunOn({ tolerations: [{ operator: 'Exists' }] }, node), true)
    assert.equal(canRunOn({ tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute' }] }, node), false)
    assert.equal(canRunOn({ tolerations: [{ key: 'a', value: '2' }] }, node), false)
    assert.equal(canRunOn({}, { labels: {}, taints: [{ key: 'a', effect: 'PreferNoSchedule' }] }), true)
  })
})
