import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defaultPipeline } from '../../addon-pipeline/default-pipeline.ts'
import { aDelivery, shippedStage } from '../observed-examples.ts'
import { reportDelivery } from '../status.ts'
import { isAutoMode, reportIgnored, withoutKarpenter } from './auto-mode.ts'
import { renderNodePool } from './node-pool/objects.ts'
import { readRequests } from './request.ts'

const all = defaultPipeline('capt-system').spec.stages
const REQUEST = 'installation.appthrust.com/eks-karpenter'
const POOL = 'installation.appthrust.com/karpenter-provider-aws-default-nodepool'

describe('a pipeline in EKS Auto Mode', () => {
  it('is one for a control plane that asks for it, and for no other', () => {
    const plane = (compute?: string) => ({ spec: { controlPlaneConfig: { compute } } }) as never
    assert.deepEqual([plane('AutoMode'), plane('NodeGroups'), plane(), undefined].map(isAutoMode), [
      true,
      false,
      false,
      false,
    ])
  })

  it('has no Karpenter, and a node pool that needs nothing else', () => {
    const { stages, skipped } = withoutKarpenter(all, { [POOL]: 'enabled' })
    assert.deepEqual(
      stages.map(({ name, needs }) => [name, needs]),
      [
        ['flux', []],
        ['node-pool', []],
      ],
    )
    assert.deepEqual(skipped, [{ name: 'karpenter', label: undefined }])
    assert.deepEqual([...readRequests(stages, { [POOL]: 'enabled' }, new Map()).wanted], ['node-pool'])
  })

  for (const [name, labels, label] of [
    ['the request', { [REQUEST]: 'enabled' }, `${REQUEST}=enabled`],
    ['the gate', { 'karpenter.sh/enabled': 'true' }, 'karpenter.sh/enabled=true'],
    ['another value', { [REQUEST]: 'disabled' }, undefined],
    ['a key that every object has', { toString: 'x' }, undefined],
  ] as const)
    it(`sees by ${name} whether Karpenter is asked for`, () => {
      assert.equal(withoutKarpenter(all, labels).skipped[0]?.label, label)
    })

  it('reports the stage as not needed, neither failed nor waiting', () => {
    const { skipped } = withoutKarpenter(all, {})
    const observed = aDelivery({ skipped })
    const stages = reportDelivery(observed, { is: 'done' } as never).fields!['stages'] as { name: string }[]
    const row = stages.find(({ name }) => name === 'karpenter')
    assert.partialDeepStrictEqual(row, { state: 'NotWanted', reason: 'AutoMode' })
  })

  it('answers a request for Karpenter with a condition and one warning', () => {
    const skipped = [{ name: 'karpenter', label: `${REQUEST}=enabled` }]
    const { conditions, warnings } = reportIgnored(skipped, undefined)
    assert.match(conditions[0]!.message, /asks for Karpenter, and the control plane runs in EKS Auto Mode/)
    assert.match(warnings[0]?.hint ?? '', new RegExp(`${POOL}=enabled, then take the label off`))
    assert.deepEqual(reportIgnored(skipped, conditions[0]).warnings, [])
    assert.equal(reportIgnored([{ name: 'karpenter', label: undefined }], conditions[0]).conditions[0]?.status, 'False')
    assert.deepEqual(reportIgnored([], undefined), { conditions: [], warnings: [] })
  })
})

describe('a node pool stage in EKS Auto Mode', () => {
  const spec = shippedStage('node-pool').nodePool!
  const render = (over: object) =>
    renderNodePool({
      spec: { ...spec, ...over },
      clusterName: 'demo',
      role: 'AutoModeNodeRole-demo',
      image: undefined,
      discoveryTag: undefined,
      subnetIds: ['subnet-1'],
      autoMode: { securityGroupIds: ['sg-1'] },
    })

  it('delivers a NodeClass and a NodePool without a finalizer of ours', () => {
    const [nodeClass, pool] = render({ nodeClass: { ephemeralStorage: { size: '160Gi' } } })
    assert.deepEqual([nodeClass?.kind, nodeClass?.metadata.name, pool?.kind], ['NodeClass', 'capt-default', 'NodePool'])
    assert.equal(nodeClass?.metadata.finalizers, undefined)
    assert.partialDeepStrictEqual(nodeClass, {
      spec: { ephemeralStorage: { size: '160Gi' }, role: 'AutoModeNodeRole-demo' },
    })
  })

  for (const [name, over, said] of [
    [
      'a pool that EKS has itself',
      { name: 'system' },
      /nodePool\.name: system is a pool that EKS Auto Mode has itself/,
    ],
    ['fields of an EC2NodeClass', { nodeClass: { userData: 'x', kubelet: {} } }, /has no kubelet, userData$/],
    [
      'labels of Karpenter',
      { nodePool: { template: { spec: { requirements: [{ key: 'karpenter.k8s.aws/instance-family' }] } } } },
      /has the label karpenter\.k8s\.aws\/instance-family$/,
    ],
  ] as const)
    it(`refuses ${name}`, () => {
      assert.throws(() => render(over), { code: 'CAPT_NODE_POOL_AUTO_MODE', message: said })
    })
})
