import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defaultPipeline } from '../../addon-pipeline/default-pipeline.ts'
import { formatGates, parseGates, readRequests } from './request.ts'

const { stages } = defaultPipeline('capt-system').spec
const wanted = (labels: Record<string, string>, gates = '') =>
  [...readRequests(stages, labels, parseGates(gates)).wanted].sort()

describe('requests', () => {
  for (const [what, labels, expected] of [
    ['nothing', {}, []],
    ['Flux alone', { 'fluxcd.io/enabled': 'true' }, ['flux']],
    [
      'Karpenter, which implies Flux',
      { 'installation.appthrust.com/eks-karpenter': 'enabled' },
      ['flux', 'karpenter', 'node-pool'],
    ],
    ['Karpenter by the gate label of a person', { 'karpenter.sh/enabled': 'true' }, ['flux', 'karpenter', 'node-pool']],
    [
      'nothing by another value',
      { 'fluxcd.io/enabled': 'false', 'installation.appthrust.com/eks-karpenter': 'disabled' },
      [],
    ],
  ] as const) {
    it(`of a Cluster may be ${what}`, () => assert.deepEqual(wanted(labels), expected))
  }

  it('do not come from a gate that capt opened itself', () => {
    assert.deepEqual(wanted({ 'karpenter.sh/enabled': 'true' }, 'karpenter.sh/enabled'), [])
  })

  it('still come from a gate label of a person after capt has opened the gate', () => {
    assert.deepEqual(wanted({ 'karpenter.sh/enabled': 'true' }, 'karpenter.sh/enabled=person'), [
      'flux',
      'karpenter',
      'node-pool',
    ])
  })

  it('are early only while the gate is shut', () => {
    const early = (gates: string) => [
      ...readRequests(stages, { 'karpenter.sh/enabled': 'true' }, parseGates(gates)).early,
    ]
    assert.deepEqual(early(''), ['karpenter'])
    assert.deepEqual(early('karpenter.sh/enabled=person'), [])
  })

  it('remember gates as text and back', () => {
    const gates = new Map([
      ['b/x', 'person'],
      ['a/y', 'capt'],
    ] as const)
    assert.equal(formatGates(gates), 'a/y,b/x=person')
    assert.deepEqual(
      parseGates(formatGates(gates)),
      new Map([
        ['a/y', 'capt'],
        ['b/x', 'person'],
      ]),
    )
  })
})
