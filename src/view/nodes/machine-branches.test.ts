// Machines in the tree of a cluster: which objects have a line, and when a machine has one of its own.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AnyObject, WorkspaceTemplateApply } from '#api'
import type { Branch } from '../branch.ts'
import { type ClusterObjects, clusterTree } from '../cluster-tree.ts'
import type { ClusterMachines } from './machine-branches.ts'

const condition = (isReady: boolean) => ({
  type: 'Ready',
  status: isReady ? 'True' : 'False',
  reason: isReady ? 'Ready' : 'InstanceFailed',
  message: isReady ? '' : 'no capacity',
  lastTransitionTime: '2026-01-01T00:00:00Z',
})

function object(kind: string, name: string, owner?: string, isReady = true): AnyObject {
  const spec = { replicas: 2, instanceType: 'm7i.large', template: { spec: { instanceType: 'm7i.large' } } }
  const ownerReferences = owner === undefined ? [] : [{ apiVersion: 'v1', kind: 'Owner', name: owner, uid: owner }]
  const metadata = { name, uid: name, ownerReferences }
  return { apiVersion: 'v1', kind, metadata, spec, status: { conditions: [condition(isReady)] } } as AnyObject
}

function treeOf(machines: { [Name in keyof ClusterMachines]?: readonly AnyObject[] }): Branch {
  const all = { deployments: [], sets: [], machines: [], ...machines } as unknown as ClusterMachines
  const applies: readonly WorkspaceTemplateApply[] = []
  const cluster = { apiVersion: 'v1', kind: 'Cluster', metadata: { name: 'shop' }, spec: {} } as AnyObject
  return clusterTree({ cluster, machines: all, applies, deliveries: [] } as ClusterObjects)
}

const lines = ({ name, word, children }: Branch, depth = 0): readonly string[] => [
  `${'  '.repeat(depth)}${name} ${word}`,
  ...children.flatMap((child) => lines(child, depth + 1)),
]

describe('The tree of a cluster', () => {
  it('has one line for a deployment whose machines are ready', () => {
    const tree = treeOf({
      deployments: [object('CAPTMachineDeployment', 'web')],
      sets: [object('CAPTMachineSet', 'web-1', 'web')],
      machines: [object('CAPTMachine', 'web-1-a', 'web-1')],
    })
    assert.deepEqual(lines(tree), ['Cluster/shop ready', '  CAPTMachineDeployment/web ready'])
    assert.equal(tree.children[0]!.fact, '2 machines, m7i.large')
  })

  it('names the machine that is not ready below its deployment, and the cluster is not ready', () => {
    const tree = treeOf({
      deployments: [object('CAPTMachineDeployment', 'web', undefined, false)],
      sets: [object('CAPTMachineSet', 'web-1', 'web')],
      machines: [object('CAPTMachine', 'web-1-a', 'web-1', false), object('CAPTMachine', 'web-1-b', 'web-1')],
    })
    assert.deepEqual(lines(tree), [
      'Cluster/shop not ready',
      '  CAPTMachineDeployment/web waiting',
      '    CAPTMachine/web-1-a waiting',
    ])
  })

  it('has a line for every set and machine that nothing else keeps', () => {
    const tree = treeOf({
      sets: [object('CAPTMachineSet', 'batch')],
      machines: [object('CAPTMachine', 'batch-a', 'batch'), object('CAPTMachine', 'lone', 'a core Machine')],
    })
    assert.deepEqual(lines(tree), ['Cluster/shop ready', '  CAPTMachineSet/batch ready', '  CAPTMachine/lone ready'])
  })
})
