import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ApiObject } from '../object.ts'
import { StatusError } from '../status.ts'
import { spentBudget } from './eviction.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const aPod = (status: object = {}, metadata: object = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-1', namespace: 'default', labels: { app: 'web' }, ...metadata },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }], ...status },
})
const UNREADY = { conditions: [{ type: 'Ready', status: 'False' }] }
const aBudget = (status: object, spec: object = {}): ApiObject => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'web', namespace: 'default', generation: 2 },
  spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
  status: { observedGeneration: 2, disruptionsAllowed: 0, desiredHealthy: 2, currentHealthy: 2, ...status },
})

/** `undefined` when no budget is asked, what is left of it, or the code of the refusal with its cause. */
function outcomeOf(pod: ApiObject, budgets: readonly ApiObject[]): unknown {
  try {
    return (spentBudget(pod, budgets, NOW)?.['status'] as { disruptionsAllowed: number } | undefined)
      ?.disruptionsAllowed
  } catch (error) {
    assert.ok(error instanceof StatusError)
    const { code, reason, message, details } = error.status
    const [cause] = details?.causes ?? []
    return [code, reason, cause?.message ?? message, details?.retryAfterSeconds].filter((part) => part !== undefined)
  }
}

const HELD = [429, 'TooManyRequests', 'The disruption budget web needs 2 healthy pods and has 2 currently']

describe('An eviction', () => {
  for (const [what, pod, budgets, outcome] of [
    ['goes where no budget is', aPod(), [], undefined],
    ['takes from its budget', aPod(), [aBudget({ disruptionsAllowed: 2 })], 1],
    ['is held by a budget that allows none', aPod(), [aBudget({})], HELD],
    ['is held by a budget of every pod', aPod(), [aBudget({}, { selector: {} })], HELD],
    ['ignores a budget of other pods', aPod(), [aBudget({}, { selector: { matchLabels: { app: 'db' } } })], undefined],
    ['ignores a budget without a selector', aPod(), [aBudget({}, { selector: undefined })], undefined],
    [
      'is held until the budget has been counted',
      aPod(),
      [aBudget({ observedGeneration: 1, disruptionsAllowed: 1 })],
      [429, 'TooManyRequests', 'The disruption budget web is still being processed by the server.', 10],
    ],
    [
      'is refused under two budgets',
      aPod(),
      [aBudget({ disruptionsAllowed: 1 }), aBudget({ disruptionsAllowed: 1 })],
      [500, 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.'],
    ],
    ['of a pod that has not started goes', aPod({ phase: 'Pending' }), [aBudget({})], undefined],
    ['of a pod that failed goes', aPod({ phase: 'Failed' }), [aBudget({})], undefined],
    ['of a pod that ended goes', aPod({ phase: 'Succeeded' }), [aBudget({})], undefined],
    [
      'of a pod that is deleted already goes',
      aPod({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      [aBudget({})],
      undefined,
    ],
    ['of an unready pod goes while enough others are healthy', aPod(UNREADY), [aBudget({})], undefined],
    [
      'of an unready pod is held while too few are',
      aPod(UNREADY),
      [aBudget({ currentHealthy: 1 })],
      [429, 'TooManyRequests', 'The disruption budget web needs 2 healthy pods and has 1 currently'],
    ],
    [
      'of an unready pod takes from the budget that needs none',
      aPod(UNREADY),
      [aBudget({ desiredHealthy: 0, disruptionsAllowed: 1 })],
      0,
    ],
    [
      'of an unready pod goes where the budget always allows it',
      aPod(UNREADY),
      [aBudget({ currentHealthy: 1 }, { unhealthyPodEvictionPolicy: 'AlwaysAllow' })],
      undefined,
    ],
    [
      'of a ready pod is held where unready ones always go',
      aPod(),
      [aBudget({}, { unhealthyPodEvictionPolicy: 'AlwaysAllow' })],
      HELD,
    ],
  ] as const)
    it(what, () => assert.deepEqual(outcomeOf(pod, budgets), outcome))

  it('is recorded in the budget, beside earlier ones', () => {
    const earlier = { 'web-0': '2025-12-31T23:59:59Z' }
    const spent = spentBudget(aPod(), [aBudget({ disruptionsAllowed: 1, disruptedPods: earlier })], NOW)
    assert.partialDeepStrictEqual(spent?.['status'], {
      disruptionsAllowed: 0,
      disruptedPods: { ...earlier, 'web-1': '2026-01-01T00:00:00Z' },
    })
  })
})
