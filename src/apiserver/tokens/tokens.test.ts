import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Clock, systemClock } from '#lib'
import { manualClock, rawApi } from '#testing'
import { startInTempFolder } from '../started.ts'
import { keepRotated } from './keep-rotated.ts'
import type { RealmTokens } from './realm-tokens.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const REALM = '/workloads/default/demo'

/** The machine's clock with another date; the look at the tokens is driven by hand. */
function shiftedClock() {
  const looks = new Set<() => void>()
  // Ends before now: the client checks certificates by the real time.
  let offsetMs = -95 * DAY_MS
  const clock: Clock = {
    ...systemClock,
    now: () => Date.now() + offsetMs,
    after(delayMs, callback) {
      if (delayMs !== HOUR_MS) return systemClock.after(delayMs, callback)
      looks.add(callback)
      return { cancel: () => void looks.delete(callback) }
    },
  }
  return {
    clock,
    looks,
    pass(days: number) {
      offsetMs += days * DAY_MS
      for (const look of [...looks]) look()
    },
  }
}

describe('The tokens of the embedded API', () => {
  it('are replaced after 60 days, work for 30 more, and the replacement outlives a restart', async () => {
    const time = shiftedClock()
    const started = await startInTempFolder({ clock: time.clock })
    const api = rawApi(started.server)
    const codeOf = async (token: string, path = '') =>
      (await api.call('GET', `${path}/api/v1/namespaces/default`, undefined, { token })).code
    const tokens = () => [started.server.token, started.server.realm(REALM).token] as const
    try {
      const first = tokens()
      let replaced = 0
      started.server.onToken(() => replaced++)
      time.pass(59)
      assert.deepEqual(tokens(), first)
      time.pass(2)
      const second = tokens()
      assert.equal(replaced, 1)
      for (const [i, path] of ['', REALM].entries()) {
        assert.notEqual(second[i], first[i])
        assert.deepEqual([await codeOf(first[i]!, path), await codeOf(second[i]!, path)], [200, 200])
      }
      assert.equal(await codeOf(second[1], ''), 401, 'the token of one realm is of no use in another')
      assert.match(started.server.kubeconfig(), new RegExp(second[0]))
      await started.restart()
      assert.deepEqual(tokens(), second)
      assert.equal(await codeOf(first[0]), 200)
      time.pass(31)
      assert.deepEqual([await codeOf(first[0]), await codeOf(second[0])], [401, 200])
      const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: first[0] } }
      const at = { token: second[0] }
      const { body } = await api.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', review, at)
      assert.equal(body['status']?.['authenticated'], undefined)
    } finally {
      api.close()
      await started.end()
    }
    assert.equal(time.looks.size, 0)
  })

  it('that cannot be stored stay as they are, are reported, and are tried again', async () => {
    const clock = manualClock()
    const said: string[] = []
    let isFull = true
    const tokens: RealmTokens = {
      ...{ current: () => 'a', replacedAt: () => 0, endsAt: () => 0, accepts: () => true },
      rotate() {
        if (isFull) throw new Error('no space')
        return true
      },
    }
    const other = { ...tokens, rotate: () => false }
    let replaced = 0
    const realms = new Map([
      ['', { tokens }],
      [REALM, { tokens: other }],
    ])
    const rotation = keepRotated(() => realms, { clock, lifetimeMs: 30 * DAY_MS, log: (message) => said.push(message) })
    rotation.onRoot(() => replaced++)
    assert.deepEqual([said, replaced], [['The token of the API was not replaced'], 0])
    isFull = false
    await clock.advance(HOUR_MS)
    assert.deepEqual([said.length, replaced], [1, 1])
    rotation.end()
    assert.equal(clock.pending, 0)
  })
})
