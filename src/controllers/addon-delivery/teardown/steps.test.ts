import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AddonStage } from '#api'
import { shippedStage } from '../observed-examples.ts'
import { planRemoval } from './steps.ts'

const NODES = ['node-pools', 'node-claims', 'node-classes']
const stages = {
  flux: shippedStage('flux'),
  karpenter: shippedStage('karpenter', { needs: [] }),
  nodePool: shippedStage('node-pool', { needs: [] }),
  resources: { ...shippedStage('flux'), name: 'own', flux: undefined, resources: [{ kind: 'ConfigMap', name: 'a' }] },
} as unknown as Readonly<Record<string, AddonStage>>

type Row = readonly [
  type: string,
  policy: 'Delete' | 'Keep',
  /** Of the Cluster: deleted with its cluster, deleted while the cluster stays in AWS, or kept. */
  end: 'deleted' | 'released' | 'kept',
  steps: readonly string[],
]

const TABLE: readonly Row[] = [
  ['flux', 'Delete', 'deleted', ['objects']],
  ['flux', 'Delete', 'kept', ['sets', 'objects', 'gate']],
  ['flux', 'Keep', 'deleted', []],
  ['flux', 'Keep', 'kept', ['sets', 'gate']],
  ['karpenter', 'Delete', 'deleted', [...NODES, 'release', 'definitions']],
  ['karpenter', 'Delete', 'released', [...NODES, 'release', 'definitions']],
  ['karpenter', 'Delete', 'kept', ['sets', ...NODES, 'release', 'definitions', 'gate']],
  ['karpenter', 'Keep', 'deleted', NODES],
  ['karpenter', 'Keep', 'released', []],
  ['karpenter', 'Keep', 'kept', ['sets', 'gate']],
  ['nodePool', 'Delete', 'deleted', NODES],
  ['nodePool', 'Delete', 'kept', ['sets', ...NODES, 'gate']],
  ['nodePool', 'Keep', 'deleted', NODES],
  ['nodePool', 'Keep', 'kept', ['sets', 'gate']],
  ['resources', 'Delete', 'deleted', ['objects']],
  ['resources', 'Delete', 'kept', ['sets', 'objects', 'gate']],
  ['resources', 'Keep', 'deleted', []],
]

describe('a stage of type', () => {
  for (const [type, policy, end, expected] of TABLE)
    it(`${type} with ${policy} is removed by ${expected.join(', ') || 'nothing'} (Cluster ${end})`, () => {
      const stage = { ...stages[type]!, uninstall: { policy, timeout: '10m' } } as AddonStage
      const steps = planRemoval([stage], new Set([stage.name]), {
        withCluster: end === 'deleted',
        isClusterKept: end === 'kept',
        nodesTimeoutMs: 60_000,
      })
      const own = steps.filter((step) => step.stage === stage.name)
      assert.deepEqual(
        own.map((step) => step.type),
        expected,
      )
      assert.deepEqual(
        own.map((step) => [step.name, step.timeoutMs]),
        expected.map((name) => [`${stage.name}/${name}`, name === 'node-claims' ? 60_000 : 600_000]),
      )
    })

  it('nodePool loses its probe pod first, where a verification is requested or recorded', () => {
    const { nodePool } = stages['nodePool']!
    const verified = { ...stages['nodePool']!, nodePool: { ...nodePool!, verify: { image: 'i:1', timeout: '1m' } } }
    const first = (stage: AddonStage, probed: readonly string[]) =>
      planRemoval([stage], new Set([stage.name]), {
        withCluster: false,
        isClusterKept: false,
        nodesTimeoutMs: 1,
        probed: new Set(probed),
      })[0]?.type
    assert.equal(first(verified, []), 'probe')
    assert.equal(first(stages['nodePool']!, ['node-pool']), 'probe')
    assert.equal(first(stages['nodePool']!, []), 'node-pools')
  })
})
