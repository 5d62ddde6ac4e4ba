import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, NodeKind, PodKind } from '#api'
import { memoryCluster } from '#testing'
import { defaultPipeline } from '../../addon-pipeline/default-pipeline.ts'
import type { Rendered } from '../stages/render/rendered.ts'
import { observeProbe } from './observe.ts'
import { probeKey } from './probe.ts'

const shipped = defaultPipeline('capt-system').spec.stages.find(({ nodePool }) => nodePool)!
const stage = { ...shipped, nodePool: { ...shipped.nodePool!, verify: { image: 'pause:3.10', timeout: '10m' } } }
const rendered: Rendered = { is: 'ready', version: undefined, parts: [], hash: 'sha256:one' }

async function podStateOf(spec: object, status: object) {
  const workload = memoryCluster({})
  const labels = { 'node.kubernetes.io/instance-type': 'm7i.large' }
  workload.seed(NodeKind, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', labels } })
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...probeKey(stage.name) }, spec, status }
  workload.seed(PodKind, pod as AnyObject)
  return (await observeProbe(workload.objects, stage, rendered, [], undefined))?.pod?.state
}

describe('what a probe pod shows', () => {
  it('is a machine when it runs, has ended well, or ran until its time was over', async () => {
    const ran = { is: 'ran', evidence: 'probe pod ran on node n1 (m7i.large)' }
    const terminated = [{ state: { terminated: { reason: 'Error', exitCode: 137 } } }]
    for (const status of [
      { phase: 'Running' },
      { phase: 'Succeeded' },
      { phase: 'Failed', reason: 'DeadlineExceeded', containerStatuses: terminated },
    ])
      assert.deepEqual(await podStateOf({ nodeName: 'n1' }, status), ran)
  })

  it('is a machine without a type when the node has gone already', async () => {
    const state = await podStateOf({ nodeName: 'gone' }, { phase: 'Running' })
    assert.deepEqual(state, { is: 'ran', evidence: 'probe pod ran on node gone' })
  })

  it('is a failure in the words of the kubelet', async () => {
    for (const [status, words] of [
      [{ reason: 'NodeAffinity', message: 'Pod was rejected' }, 'NodeAffinity: Pod was rejected'],
      [{ containerStatuses: [{ state: { terminated: { reason: 'Error', exitCode: 1 } } }] }, 'Error: exit code 1'],
      [{ reason: 'DeadlineExceeded', message: 'Pod was active too long' }, 'DeadlineExceeded: Pod was active too long'],
    ] as const)
      assert.deepEqual(await podStateOf({ nodeName: 'n1' }, { phase: 'Failed', ...status }), {
        is: 'failed',
        message: `the probe pod failed on node n1: ${words}`,
      })
  })

  it('is what keeps it from running, as long as something does', async () => {
    const waiting = { reason: 'ErrImagePull', message: 'no such image' }
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/2 nodes' }]
    for (const [spec, status, message] of [
      [{}, {}, 'no scheduler has looked at the probe pod'],
      [{}, { phase: 'Pending', conditions }, 'PodScheduled=False Unschedulable: 0/2 nodes'],
      [{ nodeName: 'n1' }, { phase: 'Pending' }, 'the probe pod does not start on node n1: ContainerCreating'],
      [
        { nodeName: 'n1' },
        { phase: 'Pending', containerStatuses: [{ state: { waiting } }] },
        'the probe pod does not start on node n1: ErrImagePull: no such image',
      ],
    ] as const)
      assert.deepEqual(await podStateOf(spec, status), { is: 'pending', message })
  })
})
