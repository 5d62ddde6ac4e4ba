import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AddonStage } from '#api'
import { shippedStage } from '../observed-examples.ts'
import { planRemoval, type RemovalOptions } from './steps.ts'

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
  cause: RemovalOptions['cause'],
  withCluster: boolean,
  steps: readonly string[],
]

const TABLE: readonly Row[] = [
  ['flux', 'Delete', 'cluster', true, ['objects']],
  ['flux', 'Delete', 'stages', false, ['sets', 'objects', 'gate']],
  ['flux', 'Keep', 'cluster', true, []],
  ['flux', 'Keep', 'stages', false, ['sets', 'gate']],
  ['karpenter', 'Delete', 'cluster', true, [...NODES, 'release', 'definitions']],
  ['karpenter', 'Delete', 'cluster', false, [...NODES, 'release', 'definitions']],
  ['karpenter', 'Delete', 'stages', false, ['sets', ...NODES, 'release', 'definitions', 'gate']],
  ['karpenter', 'Keep', 'cluster', true, NODES],
  ['karpenter', 'Keep', 'cluster', false, []],
  ['karpenter', 'Keep', 'stages', false, ['sets', 'gate']],
  ['nodePool', 'Delete', 'cluster', true, NODES],
  ['nodePool', 'Delete', 'stages', false, ['sets', ...NODES, 'gate']],
  ['nodePool', 'Keep', 'cluster', true, NODES],
  ['nodePool', 'Keep', 'stages', false, ['sets', 'gate']],
  ['resources', 'Delete', 'cluster', true, ['objects']],
  ['resources', 'Delete', 'stages', false, ['sets', 'objects', 'gate']],
  ['resources', 'Keep', 'cluster', true, []],
]

describe('a stage of type', () => {
  for (const [type, policy, cause, withCluster, expected] of TABLE)
    it(`${type} with ${policy} is removed by ${expected.join(', ') || 'nothing'} (${cause}, ${withCluster})`, () => {
      const stage = { ...stages[type]!, uninstall: { policy, timeout: '10m' } } as AddonStage
      const steps = planRemoval([stage], new Set([stage.name]), { cause, withCluster, nodesTimeoutMs: 60_000 })
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
        cause: 'cluster',
        withCluster: false,
        nodesTimeoutMs: 1,
        probed: new Set(probed),
      })[0]?.type
    assert.equal(first(verified, []), 'probe')
    assert.equal(first(stages['nodePool']!, ['node-pool']), 'probe')
    assert.equal(first(stages['nodePool']!, []), 'node-pools')
  })
})
