// A write that needs leave is asked for it when its connection is there, on every try, and never reaches the server without.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { ConfigMapKind } from '#api'
import { faultyServer } from '#testing'
import { createClient } from './client.ts'

const aMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name } })
const refuse = () => {
  throw new Error('not any more')
}

for (const tls of [true, false])
  describe(`leave to write, ${tls ? 'over TLS' : 'in the clear'}`, async () => {
    const server = await faultyServer({ kinds: [ConfigMapKind], tls })
    const client = createClient(server.access())
    after(async () => {
      client.close()
      await server.close()
    })

    it('is given: the write arrives, on a new connection and on one that was used before', async () => {
      for (const name of ['first', 'second']) {
        let asked = 0
        await client.create(ConfigMapKind, aMap(name), { permit: () => void asked++ })
        assert.equal(asked, 1)
      }
      assert.equal(server.count('create'), 2)
    })

    it('is refused: the server never receives it, and the refusal is the answer', async () => {
      const fresh = createClient(server.access())
      for (const one of [client, fresh]) {
        await assert.rejects(one.create(ConfigMapKind, aMap('third'), { permit: refuse }), { message: 'not any more' })
        const key = { namespace: 'default', name: 'first' }
        await assert.rejects(one.delete(ConfigMapKind, key, { permit: refuse }), { message: 'not any more' })
      }
      fresh.close()
      assert.equal(server.count('create'), 2)
      assert.equal(server.count('delete'), 0)
    })

    it('is withdrawn during Retry-After: the request is not sent again', async () => {
      server.plan('patch', { status: 429, headers: { 'retry-after': '0' } }, 1)
      let asked = 0
      const permit = () => {
        if (++asked > 1) refuse()
      }
      const key = { namespace: 'default', name: 'first' }
      const patch = { type: 'merge', body: { data: { a: 'b' } } } as const
      await assert.rejects(client.patch(ConfigMapKind, key, patch, { permit }), { message: 'not any more' })
      assert.equal(server.count('patch'), 1)
    })
  })
