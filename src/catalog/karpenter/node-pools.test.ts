import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fluxLineOfChart } from '../flux/chart.ts'
import { autoModeNodeClass, defaultNodeClass, defaultNodePool } from './node-pools.ts'

describe('default node pool', () => {
  it('is on-demand linux/amd64 of c, t, m from the third generation, and never expires', () => {
    assert.deepEqual(defaultNodePool({ clusterName: 'demo' }), {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name: 'default' },
      spec: {
        template: {
          spec: {
            nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
            requirements: [
              { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
              { key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['c', 't', 'm'] },
              { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['2'] },
              { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
              { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
            ],
            expireAfter: 'Never',
          },
        },
        disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '1m' },
        limits: { cpu: '1000' },
      },
    })
  })

  it('finds subnets and security groups by the discovery tag', () => {
    const selected = [{ tags: { 'karpenter.sh/discovery': 'demo' } }]
    assert.deepEqual(
      defaultNodeClass({
        clusterName: 'demo',
        role: 'arn:aws:iam::1:role/KarpenterNodeRole-demo',
        amiAlias: 'al2023@v20261102',
      }).spec,
      {
        amiSelectorTerms: [{ alias: 'al2023@v20261102' }],
        role: 'KarpenterNodeRole-demo',
        subnetSelectorTerms: selected,
        securityGroupSelectorTerms: selected,
      },
    )
  })

  it('finds subnets by id where they are known: those of an existing VPC carry no tag of ours', () => {
    const { spec } = defaultNodeClass({ clusterName: 'demo', role: 'r', subnetIds: ['subnet-1', 'subnet-2'] })
    assert.deepEqual(spec['subnetSelectorTerms'], [{ id: 'subnet-1' }, { id: 'subnet-2' }])
    assert.deepEqual(spec['securityGroupSelectorTerms'], [{ tags: { 'karpenter.sh/discovery': 'demo' } }])
  })

  it('takes what the spec says instead', () => {
    const spec = {
      clusterName: 'demo',
      name: 'ops',
      zones: ['a'],
      capacityTypes: ['spot'],
      labels: { role: 'ops' },
      taints: [{ key: 'role', effect: 'NoSchedule' }],
      cpuLimit: 10,
      expireAfter: '720h',
    }
    const pool = defaultNodePool(spec)
    assert.partialDeepStrictEqual(pool.spec, {
      template: {
        metadata: { labels: { role: 'ops' } },
        spec: { taints: [{ key: 'role', effect: 'NoSchedule' }], expireAfter: '720h' },
      },
      limits: { cpu: '10' },
    })
    assert.match(JSON.stringify(pool), /"topology.kubernetes.io\/zone","operator":"In","values":\["a"\]/)
    assert.deepEqual(
      defaultNodeClass({
        ...spec,
        instanceProfile: 'p',
        amiAlias: 'bottlerocket@1.40.0',
        tags: { team: 'x' },
        discoveryTag: 'd',
      }).spec,
      {
        amiSelectorTerms: [{ alias: 'bottlerocket@1.40.0' }],
        instanceProfile: 'p',
        subnetSelectorTerms: [{ tags: { d: 'demo' } }],
        securityGroupSelectorTerms: [{ tags: { d: 'demo' } }],
        tags: { team: 'x' },
      },
    )
  })

  it('refuses a class with no identity, or with two', () => {
    assert.throws(() => defaultNodeClass({ clusterName: 'demo' }), { code: 'CAPT_NODE_CLASS_IDENTITY' })
    assert.throws(() => defaultNodeClass({ clusterName: 'demo', role: 'a', instanceProfile: 'b' }), {
      code: 'CAPT_NODE_CLASS_IDENTITY',
    })
  })
})

describe('a node pool of EKS Auto Mode', () => {
  const wanted = { clusterName: 'demo', name: 'ops', isAutoMode: true } as const

  it('names the class and the labels of Auto Mode, and lives no longer than nodes may there', () => {
    const { spec } = defaultNodePool(wanted)
    assert.partialDeepStrictEqual(spec, {
      template: {
        spec: {
          nodeClassRef: { group: 'eks.amazonaws.com', kind: 'NodeClass', name: 'capt-ops' },
          expireAfter: '336h',
        },
      },
    })
    const text = JSON.stringify(spec)
    assert.match(text, /eks\.amazonaws\.com\/instance-category.*eks\.amazonaws\.com\/instance-generation/)
    assert.ok(!text.includes('karpenter.k8s.aws'))
  })

  it('has a class with role and network by id, and no image', () => {
    const role = 'arn:aws:iam::1:role/AutoModeNodeRole-demo'
    assert.deepEqual(autoModeNodeClass({ ...wanted, role, subnetIds: ['subnet-1'], securityGroupIds: ['sg-1'] }), {
      apiVersion: 'eks.amazonaws.com/v1',
      kind: 'NodeClass',
      metadata: { name: 'capt-ops' },
      spec: {
        role: 'AutoModeNodeRole-demo',
        subnetSelectorTerms: [{ id: 'subnet-1' }],
        securityGroupSelectorTerms: [{ id: 'sg-1' }],
      },
    })
  })
})

describe('the flux2 chart', () => {
  it('is not the Flux its number suggests', () => {
    assert.equal(fluxLineOfChart('2.1.0'), '0.37')
    assert.equal(fluxLineOfChart('2.18.1'), '2.8')
    assert.equal(fluxLineOfChart('9.9.9'), undefined)
    assert.equal(fluxLineOfChart('newest'), undefined)
  })
})
