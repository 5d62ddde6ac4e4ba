// The rows of nodes: which objects have one, how many are ready of how many, and what is not known.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ClusterObjects } from '../cluster-tree.ts'
import { nodeRows } from './node-rows.ts'

const ready = (isReady: boolean, message = 'no capacity') => ({
  conditions: ['Ready', 'NodeHealthy'].map((type) => ({
    type,
    status: isReady ? 'True' : 'False',
    reason: isReady ? 'Ready' : 'Failed',
    message: isReady ? '' : message,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  })),
})
const object = (kind: string, name: string, owner: string | undefined, spec: object, status: object) => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, uid: `${kind}/${name}`, ownerReferences: owner === undefined ? [] : [{ uid: owner }] },
  spec,
  status,
})
const template = { spec: { instanceType: 'm7i.large' } }
const rows = (objects: object) =>
  nodeRows({ applies: [], deliveries: [], ...objects } as unknown as ClusterObjects).map((row) =>
    [
      `${'  '.repeat(row.depth)}${row.kind}/${row.name}`,
      row.ready === undefined ? '-' : `${row.ready} of ${row.desired ?? '?'}`,
      row.type || '-',
      row.version || '-',
      row.word,
      row.fact || '-',
    ].join(' | '),
  )

describe('The rows of nodes', () => {
  it('of a pool count the nodes that its MachinePool asks for', () => {
    const status = { ...ready(false, '2 of 3 nodes are ready'), readyReplicas: 2, version: '1.35' }
    const pool = object('CAPTMachinePool', 'web', 'MachinePool/web', { instanceTypes: ['m7i.large'] }, status)
    const core = object('MachinePool', 'web', undefined, { replicas: 3 }, {})
    const row = 'CAPTMachinePool/web | 2 of 3 | m7i.large | 1.35 | waiting | 2 of 3 nodes are ready'
    assert.deepEqual(rows({ pools: [pool], corePools: [core] }), [row])
    assert.deepEqual(rows({ pools: [pool] }), [row.replace('2 of 3', '2 of ?')])
  })

  it('have the pool of another provider by what core writes', () => {
    const spec = { replicas: 2, template: { spec: { version: 'v1.35.0' } } }
    const core = object('MachinePool', 'other', undefined, spec, { readyReplicas: 2 })
    assert.deepEqual(rows({ corePools: [core] }), ['MachinePool/other | 2 of 2 | - | v1.35.0 | ready | -'])
  })

  it('of a deployment have its machines below the sets that have some', () => {
    const machines = {
      deployments: [
        object(
          'CAPTMachineDeployment',
          'web',
          undefined,
          { replicas: 2, template },
          { ...ready(false), availableReplicas: 1 },
        ),
      ],
      sets: [
        object(
          'CAPTMachineSet',
          'web-2',
          'CAPTMachineDeployment/web',
          { replicas: 2, template },
          { ...ready(false), availableReplicas: 1 },
        ),
        object('CAPTMachineSet', 'web-1', 'CAPTMachineDeployment/web', { replicas: 0, template }, ready(true)),
      ],
      machines: [
        object('CAPTMachine', 'web-2-a', 'CAPTMachineSet/web-2', template.spec, {
          ...ready(true),
          nodeRef: { name: 'ip-10-0-0-1' },
          instanceId: 'i-1',
        }),
        object('CAPTMachine', 'web-2-b', 'CAPTMachineSet/web-2', template.spec, ready(false)),
        object('CAPTMachine', 'lone', 'Machine/lone', template.spec, ready(true)),
      ],
    }
    assert.deepEqual(rows({ machines }), [
      'CAPTMachineDeployment/web | 1 of 2 | m7i.large | - | waiting | no capacity',
      '  CAPTMachineSet/web-2 | 1 of 2 | m7i.large | - | waiting | no capacity',
      '    CAPTMachine/web-2-a | 1 of 1 | m7i.large | - | ready | ip-10-0-0-1, i-1',
      '    CAPTMachine/web-2-b | 0 of 1 | m7i.large | - | waiting | no capacity',
      'CAPTMachine/lone | 1 of 1 | m7i.large | - | ready | -',
    ])
  })

  it('name the node pools of Karpenter without a count, and the node of the probe', () => {
    const stage = (evidence: readonly string[]) => ({
      name: 'node-pool',
      state: 'Healthy',
      healthy: { status: 'True', evidence },
    })
    const delivery = (evidence: readonly string[]) =>
      object('AddonDelivery', 'shop', undefined, {}, { ...ready(true), stages: [stage(evidence)] })
    const seen = ['EC2NodeClass default Ready', 'NodePool default Ready']
    assert.deepEqual(rows({ deliveries: [delivery(seen)] }), [
      'NodePool of Karpenter/default | - | - | - | healthy | -',
    ])
    assert.deepEqual(rows({ deliveries: [delivery([...seen, 'probe pod ran on node ip-1 (m7i.large)'])] }), [
      'NodePool of Karpenter/default | - | - | - | healthy | probe pod ran on node ip-1 (m7i.large)',
    ])
  })
})
