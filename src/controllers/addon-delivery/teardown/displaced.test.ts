import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findDisplaced } from './displaced.ts'

const node = (name: string, pool: string | undefined, more: { allocatable?: object; spec?: object } = {}) =>
  ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { zone: 'a', ...(pool ? { 'karpenter.sh/nodepool': pool } : {}) } },
    spec: more.spec ?? {},
    status: { allocatable: more.allocatable ?? { cpu: '2', memory: '4Gi', pods: '10' } },
  }) as never
const pod = (
  name: string,
  nodeName: string,
  more: { cpu?: string; spec?: object; metadata?: object; phase?: string } = {},
) =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'apps', ...more.metadata },
    spec: { nodeName, containers: [{ resources: { requests: { cpu: more.cpu ?? '500m' } } }], ...more.spec },
    status: { phase: more.phase ?? 'Running' },
  }) as never

describe('pods on nodes that leave', () => {
  const fixed = node('fixed', undefined)
  const made = node('made', 'default')
  for (const [what, nodes, pods, expected] of [
    ['have room on a node that stays', [fixed, made], [pod('a', 'made')], []],
    ['have nowhere to go without one', [made], [pod('a', 'made'), pod('b', 'made')], ['apps/a', 'apps/b']],
    [
      'have nowhere to go beyond its room, the largest first',
      [fixed, made],
      [pod('big', 'made', { cpu: '1500m' }), pod('one', 'made', { cpu: '400m' }), pod('two', 'made', { cpu: '400m' })],
      ['apps/two'],
    ],
    [
      'count what runs there already',
      [fixed, made],
      [pod('old', 'fixed', { cpu: '1800m' }), pod('a', 'made')],
      ['apps/a'],
    ],
    [
      'obey selectors and taints',
      [node('tainted', undefined, { spec: { taints: [{ key: 'x', effect: 'NoSchedule' }] } }), made],
      [pod('plain', 'made'), pod('bold', 'made', { spec: { tolerations: [{ key: 'x', operator: 'Exists' }] } })],
      ['apps/plain'],
    ],
    [
      'may want a node that is going',
      [fixed, made],
      [pod('a', 'made', { spec: { nodeSelector: { zone: 'b' } } })],
      ['apps/a'],
    ],
    [
      'end with their node when it is theirs',
      [made],
      [
        pod('daemon', 'made', { metadata: { ownerReferences: [{ kind: 'DaemonSet' }] } }),
        pod('done', 'made', { phase: 'Succeeded' }),
        pod('capt-verify-node-pool', 'made'),
      ],
      [],
    ],
    ['stay on a node of Karpenter that stays', [node('other', 'spot')], [pod('a', 'other')], []],
    [
      'are not moved to a node that is cordoned',
      [node('off', undefined, { spec: { unschedulable: true } }), made],
      [pod('a', 'made')],
      ['apps/a'],
    ],
  ] as const)
    it(what, () => assert.deepEqual(findDisplaced([...nodes], [...pods], new Set(['default'])), expected))
})
