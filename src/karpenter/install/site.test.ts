import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Site, waitFor } from './site.ts'

/** Every wait ends at once, and time has moved by as much. */
function aSite(waitMs: number) {
  let now = 0
  const reported: { readonly at: number; readonly text: string }[] = []
  const clock = {
    now: () => now,
    monotonic: () => now,
    after(delayMs: number, callback: () => void) {
      const timer = setImmediate(() => {
        now += delayMs
        callback()
      })
      return { cancel: () => clearImmediate(timer) }
    },
  }
  const report = (text: string) => void reported.push({ at: now, text })
  const site = { clock, waitMs, report, signal: new AbortController().signal } as unknown as Site
  return { site, reported, elapsed: () => now }
}

describe('A wait of capt karpenter', () => {
  it('says what is missing at least every ten seconds, and ends in time with the code and the hint', async () => {
    const { site, reported, elapsed } = aSite(45_000)
    const waiting = waitFor(site, 'Karpenter', 'CAPT_KARPENTER_RELEASE', 'look', async () => '0 of 2 pods run')
    await assert.rejects(waiting, { code: 'CAPT_KARPENTER_RELEASE', hint: 'look', message: /in time: 0 of 2 pods run/ })
    const times = [0, ...reported.map(({ at }) => at), elapsed()]
    assert.ok(Math.max(...times.map((time, i) => time - (times[i - 1] ?? 0))) <= 10_500, times.join(', '))
    assert.equal(reported[0]?.text, 'waiting for Karpenter: 0 of 2 pods run')
  })
})
