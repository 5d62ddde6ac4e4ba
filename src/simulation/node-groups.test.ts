import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, NodeKind, type WorkspaceTemplateApply } from '#api'
import { memoryCluster } from '#testing'
import { nodesOf, syncNodes, toGroup } from './node-groups.ts'

const apply = (more: object = {}, nodes: object = {}): WorkspaceTemplateApply =>
  ({
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind: 'WorkspaceTemplateApply',
    metadata: { name: 'workers-node-group' },
    status: {
      outputs: {
        node_group_name: 'workers',
        kubernetes_version: '1.35',
        nodes: { size: 2, instance_types: ['m7i.xlarge'], labels: { team: 'a' }, taints: [], ...nodes },
      },
    },
    ...more,
  }) as unknown as WorkspaceTemplateApply

describe('simulated node groups', () => {
  it('come from what Terraform applied', () => {
    const taints = [{ key: 'gpu', value: 'yes', effect: 'NO_SCHEDULE' }]
    assert.deepEqual(toGroup(apply({}, { taints })), {
      name: 'workers',
      size: 2,
      version: '1.35',
      type: 'm7i.xlarge',
      labels: { team: 'a' },
      taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }],
    })
  })

  it('are not made of other applies, nor of one that is destroyed', () => {
    assert.equal(toGroup(apply({ status: { outputs: { vpc_id: 'vpc-1' } } })), undefined)
    assert.equal(toGroup(apply({ status: undefined })), undefined)
    const { status } = apply()
    const metadata = { name: 'w', deletionTimestamp: '2026-01-01T00:00:00Z' }
    assert.equal(toGroup(apply({ metadata, status: { ...status, run: { verb: 'destroy' } } })), undefined)
    assert.ok(toGroup(apply({ metadata, status: { ...status, run: { verb: 'apply' } } })), 'a pause holds it')
  })

  const after = async (...steps: readonly WorkspaceTemplateApply[]) => {
    const { objects } = memoryCluster()
    await objects.create(NodeKind, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'simulated-node-1', labels: { 'eks.amazonaws.com/nodegroup': 'simulated' } },
    } as AnyObject)
    const seen: string[][] = []
    for (const step of steps) {
      const group = toGroup(step)
      await syncNodes(objects, group ? nodesOf(group) : [], 0)
      const nodes: AnyObject[] = []
      for await (const node of objects.list<AnyObject>(NodeKind)) nodes.push(node)
      seen.push(nodes.map(({ metadata }) => metadata.name).filter((name) => name !== 'simulated-node-1'))
      assert.equal(nodes.length, seen.at(-1)!.length + 1, 'the nodes of the cluster itself stay')
    }
    return { seen, objects }
  }

  it('keep their nodes when they grow and shrink', async () => {
    const { seen } = await after(apply(), apply({}, { size: 4 }), apply({}, { size: 1 }))
    assert.deepEqual(
      seen.map(({ length }) => length),
      [2, 4, 1],
    )
    assert.ok(seen[0]!.every((name) => seen[1]!.includes(name)))
    assert.ok(seen[0]!.includes(seen[2]![0]!))
  })

  it('replace their nodes for another type, and change labels in place', async () => {
    const { seen, objects } = await after(
      apply(),
      apply({}, { labels: { team: 'b' } }),
      apply({}, { instance_types: ['m7i.large'] }),
    )
    assert.deepEqual(seen[0], seen[1])
    assert.ok(seen[2]!.every((name) => !seen[0]!.includes(name)))
    const node = (await objects.get<AnyObject>(NodeKind, { name: seen[2]![0]! })) as unknown as {
      status: { capacity: { cpu: string } }
    }
    assert.equal(node.status.capacity.cpu, '2')
  })

  it('are gone with their apply', async () => {
    const { seen } = await after(apply(), apply({ status: undefined }))
    assert.deepEqual(seen[1], [])
  })
})
