import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { connect as connectTls, createSecureContext, type TLSSocket } from 'node:tls'
import { type Clock, createAuthority, systemClock } from '#lib'
import { manualClock, rawApi } from '#testing'
import { startInTempFolder } from '../started.ts'
import { servingCertificate } from './serving-certificate.ts'

const DAY_MS = 86_400_000

describe('The certificate of the embedded API', () => {
  it('is replaced a month before it ends, and not sooner', async () => {
    const clock = manualClock()
    const authority = createAuthority({ now: clock.now() })
    const certificate = servingCertificate(() => authority, ['127.0.0.1'], clock)
    const given: string[] = []
    const end = certificate.keepValid({
      setSecureContext(options) {
        createSecureContext(options)
        given.push(String(options.cert))
      },
    })
    await clock.advance(794 * DAY_MS)
    assert.equal(given.length, 0)
    await clock.advance(2 * DAY_MS)
    assert.equal(given.length, 1)
    await clock.advance(800 * DAY_MS)
    assert.equal(given.length, 2)
    end()
    assert.equal(clock.pending, 0)
  })

  it('is served to new connections without a restart, and open ones go on', async () => {
    // Only the daily looks are driven by hand: everything else in the server would have two years of work.
    let offsetMs = 0
    const looks: (() => void)[] = []
    const clock: Clock = {
      ...systemClock,
      now: () => Date.now() + offsetMs,
      after(delayMs, callback) {
        if (delayMs !== DAY_MS) return systemClock.after(delayMs, callback)
        looks.push(callback)
        return { cancel: () => undefined }
      },
    }
    const started = await startInTempFolder({ clock })
    const { server } = started
    const endOfServed = () =>
      new Promise<number>((resolve, reject) => {
        const { hostname: host, port } = new URL(server.url)
        // The clock of the server is in the future by then: only what it presents counts.
        const socket: TLSSocket = connectTls({ host, port: Number(port), rejectUnauthorized: false }, () => {
          resolve(Date.parse(socket.getPeerCertificate().valid_to))
          socket.destroy()
        })
        socket.on('error', reject)
      })
    const api = rawApi(server)
    try {
      assert.equal((await api.call('GET', '/api/v1/namespaces/default')).code, 200)
      const before = await endOfServed()
      offsetMs = 797 * DAY_MS
      for (const look of looks.splice(0)) look()
      assert.ok((await endOfServed()) > before + 700 * DAY_MS)
      assert.equal((await api.call('GET', '/api/v1/namespaces/default')).code, 200)
    } finally {
      api.close()
      await started.end()
    }
  })
})

describe('The authority of a data folder', () => {
  it('is renewed in its last year, and kubeconfigs from before and after are both valid', async () => {
    const started = await startInTempFolder({ clock: { ...systemClock, now: () => Date.now() - 3400 * DAY_MS } })
    try {
      const before = started.server
      const after = await started.restart({ clock: systemClock })
      assert.notEqual(after.caPem, before.caPem)
      for (const caPem of [before.caPem, after.caPem]) {
        const api = rawApi({ url: after.url, token: before.token, caPem })
        assert.equal((await api.call('GET', '/api/v1/namespaces/default')).code, 200)
        api.close()
      }
      assert.equal((await started.restart({ clock: systemClock })).caPem, after.caPem)
    } finally {
      await started.end()
    }
  })
})
