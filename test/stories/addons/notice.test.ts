// A stage that fails leaves one Event, one count and one post, which is tried again after a 500; none of them holds a secret.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { AddonPipeline, conditionOf, type Secret, SecretKind } from '#api'
import { createNotifier, notifying } from '#notify'
import { collectingMetrics } from '#testing'
import { type AddonsWorld, addonsWorld, HOME } from '../../support/addons/world.ts'
import { planted } from '../../support/secrets/planted.ts'

let world: AddonsWorld
afterEach(async () => await world.close())

const URL_TOKEN = planted('hook')
const PASSWORD = planted('password')
const encoded = (text: string) => Buffer.from(text).toString('base64')
const secret = (namespace: string, name: string, data: Readonly<Record<string, string>>): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace, name },
  data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, encoded(text)])),
})

describe('a stage that fails', () => {
  it('leaves one Event, one count and one post, again after a 500, and no secret in any of them', async () => {
    const metrics = collectingMetrics()
    const posts: string[] = []
    const answers = [500, 204, 204]
    world = await addonsWorld({
      metrics,
      events: (recorder, home, clock) =>
        notifying(
          recorder,
          createNotifier({
            objects: home.objects,
            clock,
            metrics,
            events: recorder,
            trustsTenants: true,
            fallback: undefined,
            post: async (_sink, { body }) => {
              posts.push(body)
              return answers[posts.length - 1] ?? 204
            },
          }),
        ),
    })
    world.home.seed(SecretKind, secret('default', 'capt-notification', { url: `https://hooks.example/${URL_TOKEN}` }))
    world.home.seed(SecretKind, secret('default', 'demo-addons-secret', { PASSWORD }))
    const pipeline = world.home.peek<AddonPipeline>(AddonPipeline, { namespace: HOME, name: 'default' })!
    const variablesFrom = [...pipeline.spec.variablesFrom, { kind: 'Secret', name: 'demo-addons-secret' }]
    const stages = pipeline.spec.stages.map((one) =>
      one.karpenter
        ? { ...one, retry: { limit: 0, backoff: '30s' }, karpenter: { ...one.karpenter, values: { a: '${PASSWORD}' } } }
        : one,
    )
    await world.home.others.patch(
      AddonPipeline,
      { namespace: HOME, name: 'default' },
      {
        type: 'merge',
        body: { spec: { variablesFrom, stages } },
      },
    )
    await world.addCluster('demo', { faults: { karpenter: 'crash' } })
    const failing = () => world.stage('demo', 'karpenter')?.lastError?.message.includes('CrashLoopBackOff')
    await world.until('the failure is seen', failing, 2000)
    await world.until('the post is through', () => posts.length === 2, 60)
    await world.idle(120)
    const warnings = world.events.filter(
      ({ type, about, message }) => type === 'Warning' && about === 'AddonDelivery' && /karpenter/i.test(message),
    )
    assert.equal(warnings.length, 1, JSON.stringify(warnings))
    assert.equal(metrics.value('capt_failed_attempts_total', { controller: 'addondelivery', class: 'addon' }), 1)
    assert.equal(metrics.value('capt_notifications_total', { type: 'StageFailed', result: 'sent' }), 1)
    assert.equal(posts.length, 2, 'one notice, and its second attempt')
    const ids = posts.map((body) => (JSON.parse(body) as { capt: { id: string } }).capt.id)
    assert.equal(new Set(ids).size, 1)
    const health = conditionOf(world.delivery('demo')!, 'AddonsHealthy')
    assert.deepEqual([health?.status, health?.reason], ['False', 'StageFailed'])
    assert.match(health!.message, /^karpenter: .*CrashLoopBackOff/)
    const everything = JSON.stringify([world.events, posts, world.delivery('demo'), world.log.lines])
    for (const hidden of [URL_TOKEN, PASSWORD, encoded(PASSWORD)]) assert.ok(!everything.includes(hidden), hidden)
  })
})
