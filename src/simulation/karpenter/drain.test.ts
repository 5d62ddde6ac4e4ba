import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Budget } from '../kubernetes/budgets.ts'
import type { Pod } from '../kubernetes/placement.ts'
import { evictable, graceLeft } from './drain.ts'
import type { NodeClaim } from './objects.ts'

const aPod = (name: string, annotations: Record<string, string> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { app: name.slice(0, 3) }, annotations },
})
const aBudget = (disruptionsAllowed?: number): Budget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'web', namespace: 'default' },
  spec: { selector: { matchLabels: { app: 'web' } } },
  ...(disruptionsAllowed === undefined ? {} : { status: { disruptionsAllowed } }),
})
const pods = [aPod('web-1'), aPod('web-2'), aPod('job-1', { 'karpenter.sh/do-not-disrupt': 'true' }), aPod('log-1')]

describe('A drain by the simulated Karpenter', () => {
  for (const [what, budgets, isForced, names] of [
    ['leaves a pod that must not be disrupted', [], false, ['web-1', 'web-2', 'log-1']],
    ['evicts as many as a budget allows', [aBudget(1)], false, ['web-1', 'log-1']],
    ['evicts none of a budget that allows none', [aBudget(0)], false, ['log-1']],
    ['waits for a budget without a status', [aBudget()], false, ['log-1']],
    ['obeys the strictest of several budgets', [aBudget(2), aBudget(1)], false, ['web-1', 'log-1']],
    ['evicts all when the grace period is over', [aBudget(0)], true, ['web-1', 'web-2', 'job-1', 'log-1']],
  ] as const)
    it(what, () =>
      assert.deepEqual(
        evictable(pods, budgets, isForced).map(({ metadata }) => metadata.name),
        names,
      ),
    )

  it('has an end only where the claim has a termination grace period', () => {
    const deletionTimestamp = '2026-01-01T00:00:00Z'
    const claim = (spec: NodeClaim['spec']): NodeClaim => ({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name: 'a', deletionTimestamp },
      spec,
    })
    const at = (seconds: number) => Date.parse(deletionTimestamp) + seconds * 1000
    assert.equal(graceLeft(claim({}), at(9999)), undefined)
    assert.equal(graceLeft(claim({ terminationGracePeriod: '5m' }), at(60)), 240)
    assert.equal(graceLeft(claim({ terminationGracePeriod: '5m' }), at(301)), 0)
  })
})
