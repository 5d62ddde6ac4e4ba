import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defaultPipeline } from '../../../addon-pipeline/default-pipeline.ts'
import { withSettings } from './settings.ts'

const { stages } = defaultPipeline('capt-system').spec
const plane = (karpenter: object | undefined) => ({ spec: { controlPlaneConfig: { karpenter } } }) as never
const chosen = (karpenter: object | undefined) => {
  const found = withSettings(stages, plane(karpenter)).find((stage) => stage.karpenter)?.karpenter
  return [found?.namespace, found?.identity, found?.serviceAccount]
}

describe('the Karpenter of a stage', () => {
  for (const [name, karpenter, expected] of [
    ['stays where the stage says without a setting', undefined, ['kube-system', undefined, 'karpenter']],
    ['follows the namespace of the control plane', { namespace: 'karpenter' }, ['karpenter', undefined, 'karpenter']],
    ['follows its identity', { identity: 'IRSA' }, ['kube-system', 'IRSA', 'karpenter']],
  ] as const)
    it(name, () => assert.deepEqual(chosen(karpenter), expected))

  it('is all that changes, and nothing does without a control plane', () => {
    const others = (list: typeof stages) => list.filter((stage) => !stage.karpenter)
    assert.deepEqual(others([...withSettings(stages, plane({ namespace: 'x' }))]), others(stages))
    assert.equal(withSettings(stages, undefined), stages)
  })
})
