import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Budget, budgetStatus, covers } from './budgets.ts'
import type { Pod } from './placement.ts'

const NOW = Date.parse('2026-01-01T00:02:00Z')
const selector = { matchLabels: { app: 'web' } }
const aBudget = (spec: Budget['spec']): Budget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'web', namespace: 'default' },
  spec: { selector, ...spec },
})
const aPod = (more: { ready?: boolean; phase?: string; namespace?: string; deletionTimestamp?: string } = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'p',
    namespace: more.namespace ?? 'default',
    labels: { app: 'web' },
    ...(more.deletionTimestamp ? { deletionTimestamp: more.deletionTimestamp } : {}),
  },
  status: {
    phase: more.phase ?? 'Running',
    conditions: [{ type: 'Ready', status: more.ready === false ? 'False' : 'True' }],
  },
})

describe('A PodDisruptionBudget of the simulation', () => {
  for (const [what, spec, pods, allowed] of [
    ['none with maxUnavailable 0', { maxUnavailable: 0 }, [aPod(), aPod()], 0],
    ['none with minAvailable 100%', { minAvailable: '100%' }, [aPod(), aPod()], 0],
    ['one of two with minAvailable 1', { minAvailable: 1 }, [aPod(), aPod()], 1],
    ['one of three with maxUnavailable 30%', { maxUnavailable: '30%' }, [aPod(), aPod(), aPod()], 1],
    ['none while another is not ready', { maxUnavailable: 1 }, [aPod(), aPod({ ready: false })], 0],
    [
      'none while another goes',
      { maxUnavailable: 1 },
      [aPod(), aPod({ deletionTimestamp: '2026-01-01T00:00:00Z' })],
      0,
    ],
    [
      'as if finished pods were not there',
      { minAvailable: '50%' },
      [aPod(), aPod({ phase: 'Succeeded', ready: false })],
      0,
    ],
  ] as const)
    it(`allows ${what}`, () => assert.equal(budgetStatus(aBudget(spec), pods, NOW).disruptionsAllowed, allowed))

  it('does not count an evicted pod until its deletion shows, for two minutes at most', () => {
    const evicted = (at: string) => ({ ...aBudget({ minAvailable: 1 }), status: { disruptedPods: { p: at } } })
    const [lately, before] = ['2026-01-01T00:00:01Z', '2026-01-01T00:00:00Z']
    assert.partialDeepStrictEqual(budgetStatus(evicted(lately), [aPod()], NOW), {
      currentHealthy: 0,
      disruptedPods: { p: lately },
    })
    assert.partialDeepStrictEqual(budgetStatus(evicted(before), [aPod()], NOW), {
      currentHealthy: 1,
      disruptedPods: undefined,
    })
    assert.equal(budgetStatus(evicted(lately), [], NOW).disruptedPods, undefined)
  })

  it('covers the pods of its namespace that it selects, and none without a selector', () => {
    assert.equal(covers(aBudget({}), aPod()), true)
    assert.equal(covers(aBudget({}), aPod({ namespace: 'other' })), false)
    assert.equal(covers({ ...aBudget({}), spec: {} }, aPod()), false)
  })
})
