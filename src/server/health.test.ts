import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '#lib'
import { type Check, serveHealth, until } from './health.ts'

const fine: Check = { name: 'loop', reason: () => undefined }

async function ask(port: number, path: string, method = 'GET') {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { connection: 'close' } })
  return [response.status, await response.text()] as const
}

describe('probes', () => {
  it('are told why the manager is not ready, until it is', async () => {
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
