import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '#lib'
import { manualClock } from '#testing'
import {
  answering,
  type Check,
  eventLoop,
  RECONCILE_DEADLINE_MS,
  serveHealth,
  until,
  withinDeadline,
} from './health.ts'

const fine: Check = { name: 'loop', reason: () => undefined }

async function ask(port: number, path: string, method = 'GET') {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { connection: 'close' } })
  return [response.status, await response.text()] as const
}

describe('probes', () => {
  it('get the reason why the manager is not ready, until it is', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const caches = until('caches', promise, 'still filling')
    const server = await serveHealth({ live: [fine], ready: [fine, caches], clock: systemClock, port: 0 })
    try {
      assert.deepEqual(await ask(server.port, '/healthz'), [200, 'ok   loop\nok\n'])
      assert.deepEqual(await ask(server.port, '/readyz'), [503, 'ok   loop\nfail caches: still filling\nnot ok\n'])
      resolve()
      await promise
      assert.deepEqual(await ask(server.port, '/readyz?verbose'), [200, 'ok   loop\nok   caches\nok\n'])
    } finally {
      await server.close()
    }
  })

  it('learn that it will never be ready', async () => {
    const caches = until('caches', Promise.reject(new Error('stopped')), 'still filling')
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(caches.reason(), 'still filling (and will not any more)')
  })

  it('get a clear answer to a wrong question', async () => {
    const server = await serveHealth({ live: [], ready: [], clock: systemClock, port: 0 })
    try {
      assert.deepEqual(await ask(server.port, '/'), [404, 'Ask /healthz or /readyz\n'])
      assert.deepEqual(await ask(server.port, '/healthz', 'POST'), [405, 'Only GET\n'])
    } finally {
      await server.close()
    }
  })
})

describe('the process is worth keeping', () => {
  it('while the event loop turns, and not when it stood still for thirty seconds', async () => {
    const clock = manualClock()
    const stop = new AbortController()
    const check = eventLoop(clock, stop.signal)
    for (let i = 0; i < 40; i++) await clock.advance(1000)
    assert.equal(check.reason(), undefined)
    // Nothing beats any more, as in a loop that does not turn.
    stop.abort()
    await clock.advance(29_000)
    assert.equal(check.reason(), undefined)
    await clock.advance(2_000)
    assert.match(check.reason() ?? '', /^it stood still for 3\d seconds$/)
  })

  it('while no reconcile exceeds its deadline', () => {
    const key = { namespace: 'default', name: 'demo' }
    const took = (tookMs: number) => withinDeadline(() => ({ controller: 'captcluster', key, tookMs })).reason()
    assert.equal(withinDeadline(() => undefined).reason(), undefined)
    assert.equal(took(RECONCILE_DEADLINE_MS), undefined)
    assert.equal(took(RECONCILE_DEADLINE_MS + 1000), 'captcluster works on default/demo for 901 seconds')
  })
})

describe('the manager is ready', () => {
  it('while the API server answers, and again when it is back', async () => {
    let isThere = true
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    const check = answering('api-server', async () => {
      if (!isThere) throw new Error('refused')
      return true
    })
    const probe = async () => {
      check.reason()
      await turn()
      return check.reason()
    }
    assert.equal(await probe(), undefined)
    await turn()
    isThere = false
    assert.equal(await probe(), 'it does not answer')
    await turn()
    isThere = true
    assert.equal(await probe(), undefined)
  })
})
