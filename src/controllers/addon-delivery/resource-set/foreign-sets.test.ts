import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decideDelivery } from '../decide.ts'
import { aDelivery, aPart, aStage, shippedStage } from '../observed-examples.ts'
import { blockingSet, type ForeignSet, foreignSetIndex, reportForeignSets } from './foreign-sets.ts'

const set = (over: Partial<ForeignSet> = {}): ForeignSet => ({
  name: 'karpenter-installer',
  namespace: 'default',
  label: 'karpenter.sh/enabled',
  stages: ['karpenter'],
  strategy: 'Reconcile',
  payloads: ['ConfigMap karpenter-resources'],
  installs: 'karpenter',
  isServed: true,
  placeholders: [],
  ...over,
})
const karpenter = shippedStage('karpenter', { needs: [] })

describe('a ClusterResourceSet of a person', () => {
  it('is distinguished from those of capt by their label', () => {
    const own = { 'capt.appthrust.com/stage': 'flux' }
    assert.deepEqual(foreignSetIndex({ metadata: { name: 'a', namespace: 'x' } } as never), ['x'])
    assert.deepEqual(foreignSetIndex({ metadata: { name: 'a', namespace: 'x', labels: own } } as never), [])
  })

  for (const [name, over, said] of [
    [
      'that installs Flux',
      { installs: 'flux', stages: ['flux'], label: 'fluxcd.io/enabled' },
      /install Flux a second time/,
    ],
    ['that brings Karpenter', {}, /acts on karpenter\.sh\/enabled, which asks capt for karpenter: it would install/],
    ['with variables', { placeholders: ['${A}'] }, /nobody fills in \$\{A\} of ConfigMap karpenter-resources$/],
    [
      'without a strategy',
      { strategy: 'ApplyOnce', installs: undefined },
      /capt for karpenter; its strategy is ApplyOnce/,
    ],
  ] as const)
    it(`${name} is in the condition, with one warning`, () => {
      const observed = aDelivery({ foreignSets: [set(over)] })
      const { conditions, warnings } = reportForeignSets(observed)
      assert.equal(conditions[0]?.status, 'True')
      assert.match(conditions[0]!.message, said)
      assert.match(warnings[0]?.hint ?? '', /kubectl delete clusterresourceset karpenter-installer -n default/)
      const status = { conditions: [{ ...conditions[0]!, lastTransitionTime: '' }] }
      const again = { ...observed, delivery: { ...observed.delivery, status } as never }
      assert.deepEqual(reportForeignSets(again).warnings, [])
      assert.equal(reportForeignSets({ ...again, foreignSets: [] }).conditions[0]?.status, 'False')
    })

  it('blocks Karpenter only when Flux would really install what it brings', () => {
    assert.equal(blockingSet([set()], karpenter)?.name, 'karpenter-installer')
    assert.equal(blockingSet([set({ isServed: false })], karpenter), undefined)
    assert.equal(blockingSet([set({ installs: 'flux' })], karpenter), undefined)
    assert.equal(blockingSet([set()], shippedStage('flux')), undefined)
  })

  it('stops a stage that is not delivered yet, and leaves one that is', () => {
    const gate = { label: 'karpenter.sh/enabled', isSet: true, isOurs: true }
    const stage = (isWritten: boolean) => aStage({ stage: karpenter, gate, parts: [aPart({ isWritten })] })
    const decided = decideDelivery(aDelivery({ stages: [stage(false)], foreignSets: [set()] }))
    assert.equal(
      decided.is === 'stalled' && decided.message,
      'ClusterResourceSet karpenter-installer also brings Karpenter to this Cluster',
    )
    assert.notEqual(decideDelivery(aDelivery({ stages: [stage(true)], foreignSets: [set()] })).is, 'stalled')
  })
})
