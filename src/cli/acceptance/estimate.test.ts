import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dollarsAnHour, limitOf, limitText, mostOf, simulatedLimitOf, spentAfter } from './estimate.ts'

const HOUR = 3_600_000
const today = '2026-11-15'

describe('The estimate of an acceptance run', () => {
  it('is above the parts that are there from the start', () => {
    const rate = dollarsAnHour({ region: 'us-east-1', version: '1.36', today })
    assert.ok(rate > 0.1 + 2 * 0.0832 + 0.045 + 0.005 && rate < 1, String(rate))
  })

  it('knows extended support and dearer regions', () => {
    const at = (region: string, version: string) => dollarsAnHour({ region, version, today })
    assert.ok(Math.abs(at('us-east-1', '1.32') - at('us-east-1', '1.36') - 0.5) < 1e-9)
    assert.equal(at('sa-east-1', '1.36'), 2 * at('us-east-1', '1.36'))
  })

  for (const [budget, timeoutMs, expected] of [
    [5, 2 * HOUR, { ms: 2 * HOUR, by: 'timeout' }],
    [1, 2 * HOUR, { ms: 1.5 * HOUR, by: 'budget' }],
    [0.5, 2 * HOUR, { ms: HOUR / 2, by: 'budget' }],
  ] as const)
    it(`ends a run with a budget of ${budget} by the ${expected.by}`, () =>
      assert.deepEqual(limitOf(budget, timeoutMs, 0.5), expected))

  it('refuses a budget that cannot pay for making and deleting a cluster', () => {
    assert.throws(() => limitOf(0.49, HOUR, 0.5), { code: 'CAPT_USAGE', message: /too small/ })
    assert.deepEqual(simulatedLimitOf(0.0005, HOUR, 0.5), { ms: 3600, by: 'budget' })
  })

  it('is never over the budget with the usual time for a deletion', () => {
    for (const budget of [0.5, 1, 5]) assert.ok(mostOf(limitOf(budget, 100 * HOUR, 0.5), 0.5) <= budget)
  })

  it('grows with time', () => {
    assert.equal(spentAfter(HOUR / 2, 0.6), 0.3)
    assert.equal(limitText({ ms: HOUR / 2, by: 'budget' }), 'the budget, used after 30m')
  })
})
