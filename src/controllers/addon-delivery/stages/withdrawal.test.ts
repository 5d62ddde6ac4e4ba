import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AddonDelivery } from '#api'
import { defaultPipeline } from '../../addon-pipeline/default-pipeline.ts'
import { planWithdrawal } from './withdrawal.ts'

const KARPENTER = { 'installation.appthrust.com/eks-karpenter': 'enabled' }
const FLUX = { 'fluxcd.io/enabled': 'true' }
const GATE = { 'karpenter.sh/enabled': 'true' }
const delivery = (gates = '') =>
  ({
    metadata: { name: 'demo', annotations: { 'capt.appthrust.com/gates-opened': gates } },
    spec: { clusterName: 'demo' },
  }) as unknown as AddonDelivery
const plan = (labels: Readonly<Record<string, string>>, named: readonly string[], gates?: string) =>
  planWithdrawal(defaultPipeline('capt-system'), delivery(gates), labels, named)

describe('withdrawing a stage', () => {
  it('takes off the labels that ask for it and for what needs it', () => {
    assert.deepEqual(plan({ ...FLUX, ...KARPENTER, ...GATE, team: 'a' }, ['karpenter'], 'karpenter.sh/enabled'), {
      labels: KARPENTER,
      going: ['karpenter', 'node-pool'],
    })
  })

  it('takes off a gate label that a person set', () => {
    assert.deepEqual(plan({ ...FLUX, ...GATE }, ['karpenter'], 'karpenter.sh/enabled=person').labels, GATE)
  })

  it('of Flux takes everything that needs Flux with it', () => {
    const { going, labels } = plan({ ...FLUX, ...KARPENTER }, ['flux'])
    assert.deepEqual([going.toSorted(), labels], [['flux', 'karpenter', 'node-pool'], { ...FLUX, ...KARPENTER }])
  })

  it('is refused for what nobody asks for, and for what no label asks for', () => {
    assert.throws(() => plan(FLUX, ['karpenter']), { code: 'CAPT_WITHDRAW', message: /not asked for/ })
    const pipeline = defaultPipeline('capt-system')
    const [flux, ...rest] = pipeline.spec.stages
    const fixed = { ...pipeline, spec: { ...pipeline.spec, stages: [{ ...flux!, enabledBy: [] }, ...rest] } }
    assert.throws(() => planWithdrawal(fixed, delivery(), {}, ['flux']), { message: /goes to every Cluster/ })
  })
})
