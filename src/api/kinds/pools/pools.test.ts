// What the schema of pools and bootstrap data refuses before anything runs, and in which words.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkObject } from '../../check-object.ts'
import type { Kind } from '../../define-kind.ts'
import { CAPTBootstrapConfig } from './capt-bootstrap-config.ts'
import { CAPTBootstrapConfigTemplate } from './capt-bootstrap-config-template.ts'
import { CAPTMachinePool } from './capt-machine-pool.ts'
import { CAPTMachinePoolTemplate } from './capt-machine-pool-template.ts'

function faultsOf(kind: Kind, spec: unknown): string {
  const object = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: 'a', namespace: 'default' }, spec }
  const { faults } = checkObject(kind, object)
  return faults.map(({ path, message }) => `${path}: ${message}`).join('\n')
}

const POOL = { workspaceTemplateRef: { name: 'node-group' } }
const WHOLE = {
  ...POOL,
  instanceTypes: ['m7i.large', 'u-6tb1.metal', 'mac2-m2pro.metal', 'x2iedn.metal', 'hpc7g.4xlarge'],
  amiType: 'AL2023_ARM_64_STANDARD',
  capacityType: 'SPOT',
  diskSize: 100,
  scaling: { minSize: 0, maxSize: 10 },
  labels: { team: 'a', 'example.com/role': '' },
  taints: [
    { key: 'example.com/gpu', value: 'true', effect: 'NoSchedule' },
    { key: 'example.com/gpu', effect: 'NoExecute' },
  ],
  updateConfig: { maxUnavailable: 2 },
  subnets: ['subnet-0a1b'],
  additionalTags: { Team: 'a' },
}

describe('the schema of CAPTMachinePool', () => {
  it('takes every field', () => assert.equal(faultsOf(CAPTMachinePool, WHOLE), ''))
  it('takes them in a template too', () =>
    assert.equal(faultsOf(CAPTMachinePoolTemplate, { template: { spec: WHOLE } }), ''))

  for (const [what, spec, complaint] of [
    ['no template', {}, /spec\.workspaceTemplateRef/],
    ['an instance type without a size', { ...POOL, instanceTypes: ['m7i'] }, /spec\.instanceTypes\[0\]/],
    ['an instance type in capitals', { ...POOL, instanceTypes: ['M7i.Large'] }, /spec\.instanceTypes\[0\]/],
    ['an empty list of instance types', { ...POOL, instanceTypes: [] }, /spec\.instanceTypes/],
    ['an unknown image', { ...POOL, amiType: 'AL2_x86_64' }, /spec\.amiType/],
    ['an unknown capacity type', { ...POOL, capacityType: 'spot' }, /spec\.capacityType/],
    ['no disk', { ...POOL, diskSize: 0 }, /spec\.diskSize/],
    ['a negative size', { ...POOL, scaling: { minSize: -1, maxSize: 1 } }, /spec\.scaling\.minSize/],
    ['no room for a node', { ...POOL, scaling: { minSize: 0, maxSize: 0 } }, /spec\.scaling\.maxSize/],
    ['a lower bound alone', { ...POOL, scaling: { minSize: 1 } }, /spec\.scaling\.maxSize/],
    [
      'bounds in the wrong order',
      { ...POOL, scaling: { minSize: 3, maxSize: 2 } },
      /minSize must not be greater than maxSize/,
    ],
    ['a label of EKS', { ...POOL, labels: { 'eks.amazonaws.com/nodegroup': 'x' } }, /set by EKS/],
    ['a malformed label', { ...POOL, labels: { team: 'a b' } }, /spec\.labels/],
    ['an unknown effect', { ...POOL, taints: [{ key: 'a', effect: 'NO_SCHEDULE' }] }, /spec\.taints\[0\]\.effect/],
    ['a taint without a key', { ...POOL, taints: [{ effect: 'NoSchedule' }] }, /spec\.taints\[0\]\.key/],
    [
      'the same taint twice',
      {
        ...POOL,
        taints: [
          { key: 'a', effect: 'NoSchedule' },
          { key: 'a', value: 'b', effect: 'NoSchedule' },
        ],
      },
      /spec\.taints\[1\]/,
    ],
    [
      'two bounds for an update',
      { ...POOL, updateConfig: { maxUnavailable: 1, maxUnavailablePercentage: 10 } },
      /exactly one of maxUnavailable and maxUnavailablePercentage must be set/,
    ],
    ['no bound for an update', { ...POOL, updateConfig: {} }, /exactly one of maxUnavailable/],
    ['an update of nothing', { ...POOL, updateConfig: { maxUnavailable: 0 } }, /spec\.updateConfig\.maxUnavailable/],
    ['a subnet that is none', { ...POOL, subnets: ['vpc-1'] }, /spec\.subnets\[0\]/],
  ] as const)
    it(`refuses ${what}`, () => {
      assert.match(faultsOf(CAPTMachinePool, spec), complaint)
      assert.match(faultsOf(CAPTMachinePoolTemplate, { template: { spec } }), /./)
    })
})

describe('the schema of CAPTBootstrapConfig', () => {
  it('takes settings of the kubelet, or none', () => {
    assert.equal(faultsOf(CAPTBootstrapConfig, {}), '')
    const kubelet = { config: { maxPods: 30 }, flags: ['--node-labels=team=a', '--v=2'] }
    assert.equal(faultsOf(CAPTBootstrapConfig, { kubelet }), '')
    assert.equal(faultsOf(CAPTBootstrapConfigTemplate, { template: { spec: { kubelet } } }), '')
  })

  it('refuses a flag that is none', () =>
    assert.match(faultsOf(CAPTBootstrapConfig, { kubelet: { flags: ['v=2'] } }), /spec\.kubelet\.flags\[0\]/))
})
