import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { TLSSocket } from 'node:tls'
import type { KindRef } from '#api'
import { KubeError, type Objects } from '#kube'
import { createAuthority, issueCertificate } from '#lib'
import { collectingLog, manualClock } from '#testing'
import { type MetricsOptions, serveMetrics } from './metrics.ts'
import { prometheusMetrics } from './prometheus.ts'
import { reviewByApiServer } from './review.ts'
import { fromFiles, selfSigned } from './server-certificate.ts'

/** An API server that knows two people, and counts what it is asked. */
function aReviewer() {
  const asked: unknown[] = []
  const state = { down: false }
  const users: Record<string, string> = { 'good-token': 'prometheus', 'poor-token': 'somebody' }
  const objects = {
    async create(kind: KindRef, review: { spec: Record<string, unknown> }) {
      asked.push(review.spec)
      if (state.down) throw new KubeError('Unreachable', 'connection refused')
      if (kind.kind === 'SubjectAccessReview') return { status: { allowed: review.spec['user'] === 'prometheus' } }
      const username = users[String(review.spec['token'])]
      return { status: username ? { authenticated: true, user: { username, groups: ['g'] } } : {} }
    },
  } as unknown as Objects
  return { asked, state, objects }
}

async function withServer(
  over: Partial<MetricsOptions>,
  test: (
    port: number,
    parts: ReturnType<typeof aReviewer> & { clock: ReturnType<typeof manualClock> },
  ) => Promise<void>,
) {
  const reviewer = aReviewer()
  const clock = manualClock()
  const log = collectingLog()
  const metrics = prometheusMetrics({ processMetrics: false })
  metrics.counter({ name: 'runs_total', about: 'Runs.', labels: ['result'] }).add({ result: 'ok' }, 3)
  const server = await serveMetrics({
    metrics,
    review: reviewByApiServer({ objects: reviewer.objects, clock, log }),
    certificate: selfSigned(['localhost'], ['127.0.0.1'], clock),
    clock,
    log,
    port: 0,
    ...over,
  })
  try {
    await test(server.port, { ...reviewer, clock })
  } finally {
    await server.close()
  }
  assert.equal(clock.pending, 0, 'a timer was left behind')
}

/** A resumed session shows no certificate: every request is a new one. */
const agent = new Agent({ maxCachedSessions: 0 })

function ask(port: number, token?: string, path = '/metrics', method = 'GET') {
  return new Promise<{ status: number; body: string; type: string; subject: string }>((resolve, reject) => {
    const headers = { connection: 'close', ...(token ? { authorization: `Bearer ${token}` } : {}) }
    const call = request(
      { host: '127.0.0.1', port, path, method, headers, rejectUnauthorized: false, agent },
      (response) => {
        const subject = String((response.socket as TLSSocket).getPeerCertificate().subject.CN)
        let body = ''
        response.on('data', (chunk) => {
          body += chunk
        })
        const { statusCode = 0, headers: got } = response
        response.on('end', () => resolve({ status: statusCode, body, type: got['content-type'] ?? '', subject }))
      },
    )
    call.on('error', reject).end()
  })
}

describe('metrics', () => {
  it('are refused without a token, without asking anybody', () =>
    withServer({}, async (port, { asked }) => {
      assert.equal((await ask(port)).status, 401)
      assert.deepEqual(asked, [])
    }))

  it('are refused to a token that the API server does not know (401) or that may not read them (403)', () =>
    withServer({}, async (port) => {
      assert.equal((await ask(port, 'made-up')).status, 401)
      const refused = await ask(port, 'poor-token')
      assert.equal(refused.status, 403)
      assert.match(refused.body, /nonResourceURLs/)
    }))

  it('are given in Prometheus text to who may read them', () =>
    withServer({}, async (port, { asked }) => {
      const given = await ask(port, 'good-token')
      assert.equal(given.status, 200)
      assert.match(given.type, /^text\/plain; version=0\.0\.4/)
      assert.match(given.body, /# HELP runs_total Runs\.\n# TYPE runs_total counter\nruns_total\{result="ok"\} 3/)
      assert.deepEqual(asked, [
        { token: 'good-token' },
        {
          user: 'prometheus',
          uid: undefined,
          groups: ['g'],
          extra: undefined,
          nonResourceAttributes: { path: '/metrics', verb: 'get' },
        },
      ])
    }))

  it('remember an answer for a minute, and not longer', () =>
    withServer({}, async (port, { asked, clock }) => {
      for (let i = 0; i < 3; i++) assert.equal((await ask(port, 'good-token')).status, 200)
      assert.equal(asked.length, 2)
      await clock.advance(60_000)
      await ask(port, 'good-token')
      assert.equal(asked.length, 4)
    }))

  it('answer 503, and try again next time, when the API server cannot be asked', () =>
    withServer({}, async (port, { state }) => {
      state.down = true
      assert.equal((await ask(port, 'good-token')).status, 503)
      state.down = false
      assert.equal((await ask(port, 'good-token')).status, 200)
    }))

  it('are the only thing there', () =>
    withServer({}, async (port) => {
      assert.equal((await ask(port, 'good-token', '/')).status, 404)
      assert.equal((await ask(port, 'good-token', '/metrics', 'POST')).status, 405)
    }))

  it('take a replaced certificate without a restart, but never half of one', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'capt-metrics-'))
    const authority = createAuthority()
    const write = (name: string, parts = { certificate: true, key: true }) => {
      const { certificate, key } = issueCertificate(authority, { names: [name], days: 1 })
      if (parts.certificate) writeFileSync(join(dir, 'tls.crt'), certificate)
      if (parts.key) writeFileSync(join(dir, 'tls.key'), key)
    }
    try {
      write('one.test')
      const certificate = fromFiles(join(dir, 'tls.crt'), join(dir, 'tls.key'))
      await withServer({ certificate }, async (port, { clock }) => {
        assert.equal((await ask(port)).subject, 'one.test')
        write('half.test', { certificate: true, key: false })
        await clock.advance(60_000)
        assert.equal((await ask(port)).subject, 'one.test')
        write('two.test')
        await clock.advance(60_000)
        assert.equal((await ask(port)).subject, 'two.test')
      })
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  it('say which certificate file they cannot use', () => {
    assert.throws(() => fromFiles('/nowhere/tls.crt', '/nowhere/tls.key')(), {
      code: 'CAPT_CERTIFICATE_UNREADABLE',
      message: /\/nowhere\/tls\.crt/,
    })
  })

  it('renew the certificate they made themselves before it ends', async () => {
    const clock = manualClock()
    const source = selfSigned(['localhost'], [], clock)
    assert.ok(source())
    assert.equal(source(), undefined)
    await clock.advance(330 * 86_400_000)
    assert.equal(source(), undefined)
    await clock.advance(10 * 86_400_000)
    assert.ok(source())
  })
})

describe('the review of tokens', () => {
  it('asks once for many questions at the same time, and is not flooded by unknown tokens', async () => {
    const { objects, asked } = aReviewer()
    const review = reviewByApiServer({ objects, clock: manualClock(), log: collectingLog() })
    const same = await Promise.all(Array.from({ length: 20 }, () => review('good-token', '/metrics')))
    assert.deepEqual([new Set(same), asked.length], [new Set(['allowed']), 2])
    const many = await Promise.all(Array.from({ length: 50 }, (_, i) => review(`token-${i}`, '/metrics')))
    assert.equal(many.filter((verdict) => verdict === 'unauthenticated').length, 4)
    assert.equal(asked.length, 6)
  })

  it('remembers at most a hundred answers', async () => {
    const { objects, asked } = aReviewer()
    const review = reviewByApiServer({ objects, clock: manualClock(), log: collectingLog() })
    for (let i = 0; i < 101; i++) await review(`token-${i}`, '/metrics')
    await review('token-100', '/metrics')
    assert.equal(asked.length, 101)
    await review('token-0', '/metrics')
    assert.equal(asked.length, 102)
  })
})
