import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chooseType, resourcesOf, sizeOf, typeOfClaim } from './instance-types.ts'
import type { NodeClaim, NodePool, Requirement } from './objects.ts'

const pool = (requirements: readonly Requirement[] = [], limits?: Record<string, string>): NodePool => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: { template: { spec: { requirements } }, ...(limits ? { limits } : {}) },
})
const claim = (type: string): NodeClaim => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: 'c' },
  spec: { requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: [type] }] },
})

describe('the sizes of the simulation', () => {
  for (const [type, cpu, memoryGi] of [
    ['m7i.large', 2, 8],
    ['m7i.xlarge', 4, 16],
    ['c7g.2xlarge', 8, 16],
    ['r7i.48xlarge', 192, 1536],
    ['t3.medium', 2, 8],
    ['m7i.unheard-of', 2, 8],
  ] as const)
    it(`give ${type} ${cpu} CPUs`, () => assert.deepEqual(sizeOf(type), { cpu, memoryGi }))

  it('leave a part of a node to the system', () =>
    assert.deepEqual(resourcesOf('m7i.large').allocatable, { cpu: '1900m', memory: '7Gi', pods: '58' }))

  const rows: readonly [string, NodePool, number, readonly NodeClaim[], string | undefined][] = [
    ['the smallest type with room', pool(), 3000, [], 'm7i.xlarge'],
    ['a large one for a small pod', pool(), 100, [], 'm7i.large'],
    ['no machine for a pod that is larger than all of them', pool(), 500_000, [], undefined],
    [
      'no machine when the types of the pool are too small',
      pool([{ key: 'karpenter.k8s.aws/instance-size', operator: 'In', values: ['large'] }]),
      3000,
      [],
      undefined,
    ],
    [
      'a type within the bounds of the CPU requirement',
      pool([{ key: 'karpenter.k8s.aws/instance-cpu', operator: 'Gt', values: ['4'] }]),
      100,
      [],
      'm7i.2xlarge',
    ],
    [
      'a type that the pool names',
      pool([{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['c7i.4xlarge', 'c7i.xlarge'] }]),
      2000,
      [],
      'c7i.xlarge',
    ],
    ['the last machine within the limit', pool([], { cpu: '4' }), 100, [claim('m7i.large')], 'm7i.large'],
    ['no machine beyond the limit', pool([], { cpu: '4' }), 100, [claim('m7i.xlarge')], undefined],
    [
      'the last machine within the limit of memory',
      pool([], { memory: '16Gi' }),
      100,
      [claim('m7i.large')],
      'm7i.large',
    ],
    ['no machine beyond the limit of memory', pool([], { memory: '16Gi' }), 100, [claim('r7i.large')], undefined],
    ['no machine beyond either limit', pool([], { cpu: '100', memory: '8000M' }), 100, [], undefined],
    ['no larger machine than the limit allows', pool([], { cpu: '3' }), 3000, [], undefined],
  ]
  for (const [what, from, millicpu, claims, type] of rows)
    it(`choose ${what}`, () => assert.equal(chooseType(from, millicpu, claims), type))

  it('keep the type that was chosen for a claim', () => assert.equal(typeOfClaim(claim('r7i.xlarge')), 'r7i.xlarge'))
})
