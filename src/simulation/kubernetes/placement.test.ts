import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseFault } from '../faults.ts'
import { choose, type Node, type Pod, parseCpu } from './placement.ts'

const node = (name: string, over: Partial<Node> = {}, labels: Record<string, string> = {}): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels },
  status: { allocatable: { cpu: '2' } },
  ...over,
})
const pod = (cpu: string, spec: object = {}, metadata: object = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default', ...metadata },
  spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }], ...spec },
})

describe('placing a simulated pod', () => {
  it('takes the first node with room, counting what runs there', () => {
    const busy = pod('1500m', { nodeName: 'a' })
    assert.equal(choose(pod('600m'), [node('a'), node('b')], [busy]).node?.metadata.name, 'b')
    assert.equal(choose(pod('500m'), [node('a'), node('b')], [busy]).node?.metadata.name, 'a')
  })

  it('says why no node takes it, as a scheduler does', () => {
    const tainted = node('b', { spec: { taints: [{ key: 'x', effect: 'NoSchedule' }] } })
    assert.equal(
      choose(pod('3'), [node('a'), tainted], []).message,
      '0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)',
    )
  })

  it('keeps off nodes that the affinity forbids, and off nodes with a twin', () => {
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' }] }],
        },
      },
    }
    assert.equal(
      choose(pod('1', { affinity }), [node('a', {}, { 'karpenter.sh/nodepool': 'default' })], []).node,
      undefined,
    )
    const apart = {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'k' } } },
        ],
      },
    }
    const twin = pod('100m', { nodeName: 'a' }, { labels: { app: 'k' } })
    assert.equal(
      choose(pod('100m', { affinity: apart }, { labels: { app: 'k' } }), [node('a'), node('b')], [twin]).node?.metadata
        .name,
      'b',
    )
  })

  it('reads quantities of CPU', () =>
    assert.deepEqual([parseCpu('250m'), parseCpu('1'), parseCpu(2), parseCpu(undefined)], [250, 1000, 2000, 0]))
})

describe('fault switches', () => {
  it('are read from text, and nonsense is no fault', () => {
    assert.deepEqual(['pull', 'crash', 'missing', 'slow=5s', 'slow=soon', 'whatever', undefined].map(parseFault), [
      { is: 'pull' },
      { is: 'crash' },
      { is: 'missing' },
      { is: 'slow', ms: 5000 },
      { is: 'none' },
      { is: 'none' },
      { is: 'none' },
    ])
  })
})
