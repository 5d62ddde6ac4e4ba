import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import type { AnyObject, Secret } from '#api'
import { SecretKind } from '#api'
import type { Events } from '#kube'
import { manualClock, memoryCluster } from '#testing'
import { httpPost, isPrivateAddress } from './http-post.ts'
import { createNotifier, type Post } from './notifier.ts'

const URL_TOKEN = 'T000-token-of-the-webhook'
const about = {
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
  kind: 'AddonDelivery',
  metadata: { name: 'demo', namespace: 'team', uid: 'u-1', labels: { 'cluster.x-k8s.io/cluster-name': 'demo' } },
} as AnyObject
const failure = { type: 'Warning', reason: 'NotHealthy', message: 'Stage flux: 0 of 1 available' } as const
const recovered = {
  about: { ...about, status: { stages: [{ name: 'flux', lastError: { code: 'X', message: 'm' } }] } } as AnyObject,
  event: { type: 'Normal', reason: 'Ready', message: 'AddonDelivery demo is ready' },
} as const

const secretOf = (
  data: Readonly<Record<string, string>>,
  key = { namespace: 'team', name: 'capt-notification' },
): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: key,
  data: Object.fromEntries(Object.entries(data).map(([name, value]) => [name, Buffer.from(value).toString('base64')])),
})

function world(answers: readonly (number | Error)[], secrets: readonly Secret[], over: object = {}) {
  const clock = manualClock()
  const { seed, others } = memoryCluster({})
  for (const secret of secrets) seed(SecretKind, secret)
  const sent: { url: string; body: string; headers: Readonly<Record<string, string>> }[] = []
  const reported: { reason: string; message: string }[] = []
  const numbers: string[] = []
  const post: Post = async ({ url }, payload) => {
    const answer = answers[sent.length] ?? 200
    sent.push({ url, ...payload })
    if (answer instanceof Error) throw answer
    return answer
  }
  const events: Events = { emit: (_about, { reason, message }) => void reported.push({ reason, message }) }
  const metrics = {
    counter: () => ({
      add: (labels: Record<string, string>) => void numbers.push(`${labels['type']} ${labels['result']}`),
    }),
  } as never
  const notifier = createNotifier({ objects: others, clock, post, events, metrics, trustsTenants: false, ...over })
  const pass = async (seconds = 700) => {
    for (let i = 0; i < seconds; i += 5) await clock.advance(5_000)
    await notifier.settled()
  }
  return { notifier, sent, reported, numbers, pass }
}

const hook = secretOf({ url: `https://hooks.example/${URL_TOKEN}`, signingKey: 'key' })

describe('a notifier', () => {
  it('posts once, signed, and again after a 500', async () => {
    const { notifier, sent, reported, numbers, pass } = world([500, new Error('reset')], [hook])
    for (let i = 0; i < 5; i += 1) notifier.notify(about, failure)
    await pass()
    assert.equal(sent.length, 3, 'two failed attempts, one success, and no second notice')
    const { body, headers } = sent[2]!
    assert.equal(new Set(sent.map((one) => one.headers['x-capt-id'])).size, 1)
    const expected = createHmac('sha256', 'key').update(`${headers['x-capt-time']}.${body}`).digest('hex')
    assert.equal(headers['x-capt-signature'], `sha256=${expected}`)
    assert.partialDeepStrictEqual(JSON.parse(body), {
      text: 'An add-on is failing: cluster demo in namespace team\nAddonDelivery demo: Stage flux: 0 of 1 available',
      capt: {
        type: 'StageFailed',
        namespace: 'team',
        cluster: 'demo',
        object: { kind: 'AddonDelivery', name: 'demo' },
      },
    })
    assert.deepEqual([numbers, reported], [['StageFailed sent'], []])
  })

  it('reports the recovery, and the next failure after it', async () => {
    const { notifier, numbers, pass } = world([], [hook])
    notifier.notify(about, failure)
    notifier.notify(recovered.about, recovered.event)
    notifier.notify(about, failure)
    await pass(10)
    assert.deepEqual(numbers, ['StageFailed sent', 'Recovered sent', 'StageFailed sent'])
  })

  it('reports the recovery of an object whose status shows nothing of the failure any more, once', async () => {
    const { notifier, numbers, pass } = world([], [hook])
    notifier.notify(about, recovered.event)
    notifier.notify(about, failure)
    notifier.notify(about, recovered.event)
    notifier.notify(about, recovered.event)
    notifier.notify(about, failure)
    await pass(10)
    assert.deepEqual(numbers, ['StageFailed sent', 'Recovered sent', 'StageFailed sent'])
  })

  for (const [what, answers, secret, message] of [
    ['a sink that never takes it', Array(9).fill(503), hook, /the sink answers 503/],
    ['a sink that refuses it', [410], hook, /the sink answers 410/],
    ['a sink without an address', [], secretOf({ token: 'x' }), /Secret team\/capt-notification has no value url/],
    ['an address without TLS', [], secretOf({ url: 'http://hooks.example/' }), /is not an https address/],
  ] as const)
    it(`gives up on ${what}, with an event that holds no address`, async () => {
      const { notifier, reported, numbers, pass } = world(answers, [secret])
      notifier.notify(about, failure)
      await pass()
      assert.deepEqual(numbers, ['StageFailed failed'])
      assert.equal(reported[0]?.reason, 'NotificationFailed')
      assert.match(reported[0].message, message)
      assert.ok(!JSON.stringify(reported).includes(URL_TOKEN))
    })

  it('sends nothing where nobody asked for it, and to the fallback where the manager has one', async () => {
    const none = world([], [])
    none.notifier.notify(about, failure)
    await none.pass(10)
    assert.deepEqual([none.sent, none.numbers], [[], []])
    const key = { namespace: 'capt-system', name: 'webhook' }
    const { notifier, sent, pass } = world([], [secretOf({ url: 'http://receiver.monitoring/' }, key)], {
      fallback: key,
    })
    notifier.notify(about, failure)
    await pass(10)
    assert.equal(sent[0]?.url, 'http://receiver.monitoring/')
  })
})

describe('a post', () => {
  const payload = { body: '{}', headers: {} }
  async function answering(status: number | undefined, headers: Record<string, string> = {}) {
    const server = createServer((_request, response) => {
      if (status !== undefined) response.writeHead(status, headers).end('x'.repeat(1 << 20))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const close = () => {
      server.closeAllConnections()
      server.close()
    }
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close }
  }
  const sink = (url: string, allowsPrivate: boolean) => ({ url, signingKey: undefined, allowsPrivate })

  it('is answered, bounded, and never redirected', async () => {
    const fine = await answering(200)
    const moved = await answering(307, { location: 'http://169.254.169.254/latest/' })
    const silent = await answering(undefined)
    assert.equal(await httpPost(sink(fine.url, true), payload), 200)
    await assert.rejects(httpPost(sink(moved.url, true), payload), /answers with a redirect \(307\)/)
    await assert.rejects(httpPost(sink(silent.url, true), payload, 100), { name: 'AbortError' })
    for (const one of [fine, moved, silent]) one.close()
  })

  it('does not go into private networks unless that is allowed', async () => {
    const fine = await answering(200)
    await assert.rejects(httpPost(sink(fine.url, false), payload), /private network/)
    await assert.rejects(httpPost(sink(fine.url.replace('127.0.0.1', 'localhost'), false), payload), /private network/)
    fine.close()
    for (const address of ['10.1.2.3', '172.31.0.1', '169.254.169.254', '::1', 'fd00::1', '::ffff:10.0.0.1'])
      assert.ok(isPrivateAddress(address), address)
    for (const address of ['8.8.8.8', '172.32.0.1', '2606:4700::1111']) assert.ok(!isPrivateAddress(address), address)
  })
})
