// Kubeconfigs that stay valid: a token is replaced before it ends, a failure is seen everywhere people look, and what a
// template gives itself takes precedence.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { parse } from 'yaml'
import { CAPTControlPlane, CLUSTER_SECRET_TYPE, type Secret, SecretKind } from '#api'
import { AwsError } from '#aws'
import { handWoundClock } from '#testing'
import {
  aCluster,
  applyAll,
  type ClusterWorld,
  type ClusterWorldOptions,
  clusterWorld,
  eksOutputs,
  type FakeAws,
  fakeAws,
} from './cluster-world.ts'

const worlds: ClusterWorld[] = []
after(() => Promise.all(worlds.map((world) => world.stop())))

const MINUTE = 60_000

async function ready(
  over: Parameters<typeof aCluster>[1] = {},
  options: ClusterWorldOptions = {},
): Promise<ClusterWorld & { aws: FakeAws }> {
  // The fake reads the world's own clock once that exists.
  const box: { now: () => number } = { now: handWoundClock().now }
  const aws = fakeAws({ now: () => box.now() })
  const world = await clusterWorld({ aws, ...options })
  box.now = world.clock.now
  worlds.push(world)
  await applyAll(world, aCluster('demo', over))
  await world.settle()
  return Object.assign(world, { aws })
}

const secretOf = (world: ClusterWorld, name = 'demo-kubeconfig') => world.get<Secret>(SecretKind, name)!
const textOf = (world: ClusterWorld, name?: string) =>
  Buffer.from(secretOf(world, name).data!['value']!, 'base64').toString()
const tokenOf = (world: ClusterWorld): string => parse(textOf(world)).users[0].user.token
const statusOf = (world: ClusterWorld) => world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')!.status!

describe('the kubeconfig of Cluster API', () => {
  it('is replaced between the 7th and the 10th minute, for ever, before the token ends', async () => {
    const world = await ready()
    let last = tokenOf(world)
    let changedAt = world.clock.now()
    for (let minute = 0; minute < 60; minute++) {
      await world.clock.advance(MINUTE)
      const left = Date.parse(statusOf(world).kubeconfig?.expiresAt ?? '') - world.clock.now()
      assert.ok(left >= 5 * MINUTE, `a new connection finds ${left / MINUTE} minutes left`)
      if (tokenOf(world) === last) continue
      const age = world.clock.now() - changedAt
      assert.ok(age >= 7 * MINUTE && age <= 11 * MINUTE, `refreshed after ${age / MINUTE} minutes`)
      last = tokenOf(world)
      changedAt = world.clock.now()
    }
    assert.ok(world.aws.calls.length >= 6)
  })

  it('costs two writes per refresh and no read of the API', async () => {
    const world = await ready()
    const before = world.cluster.requests.length
    await world.clock.advance(10 * MINUTE)
    await world.settle()
    assert.deepEqual(
      world.cluster.requests.slice(before).map(({ verb, kind }) => `${verb} ${kind}`),
      ['patch Secret', 'patch CAPTControlPlane'],
    )
  })

  it('tells a failed refresh by event, metric and condition, and the next one works', async () => {
    const world = await ready()
    world.aws.failure = new AwsError('NoCredentials', 'No AWS credentials were found')
    await world.clock.advance(10 * MINUTE)
    await world.settle()
    const condition = world.condition(CAPTControlPlane, 'demo', 'KubeconfigAvailable')
    assert.equal(condition?.status, 'False')
    assert.match(condition?.message ?? '', /No AWS credentials were found/)
    assert.ok(world.events.some(({ type, reason }) => type === 'Warning' && reason === 'KubeconfigRefreshFailed'))
    const labels = { namespace: 'default', cluster: 'demo' }
    const failed = () => world.metrics.value('capt_kubeconfig_refreshes_total', { ...labels, result: 'failure' }) ?? 0
    assert.ok(failed() >= 1)
    world.aws.failure = undefined
    await world.clock.advance(MINUTE)
    await world.settle()
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'KubeconfigAvailable')?.status, 'True')
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.status, 'True')
    assert.equal(
      world.metrics.value('capt_kubeconfig_expiry_timestamp_seconds', labels),
      Date.parse(statusOf(world).kubeconfig?.expiresAt ?? '') / 1000,
    )
  })

  it('comes back at once when somebody deletes it', async () => {
    const world = await ready()
    await world.remove(SecretKind, 'demo-kubeconfig')
    await world.settle()
    assert.ok(tokenOf(world))
    await world.clock.advance(11 * MINUTE)
    await world.settle()
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'KubeconfigAvailable')?.status, 'True')
  })

  it('is made anew when its Secret is of the wrong type', async () => {
    const world = await clusterWorld()
    worlds.push(world)
    world.cluster.seed(SecretKind, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'demo-kubeconfig', namespace: 'default' },
      type: 'Opaque',
    } as Secret)
    await applyAll(world, aCluster())
    await world.settle()
    assert.equal(secretOf(world).type, CLUSTER_SECRET_TYPE)
  })

  it('goes on after a restart from where it was', async () => {
    const world = await ready()
    await world.clock.advance(3 * MINUTE)
    const token = tokenOf(world)
    const again = await clusterWorld({ aws: world.aws, cluster: world.cluster, clock: world.clock })
    worlds.push(again)
    world.stopControllers()
    await again.settle()
    assert.equal(tokenOf(again), token, 'a token that is still good is kept')
    await again.clock.advance(8 * MINUTE)
    await again.settle()
    assert.notEqual(tokenOf(again), token)
  })

  it('follows the endpoint when a run changes it', async () => {
    let host = 'one'
    const outputs: ClusterWorldOptions['outputs'] = (apply) => {
      const { plain, sensitive = {} } = eksOutputs(apply)
      return {
        plain: 'vpc_id' in plain ? plain : { ...plain, cluster_endpoint: `https://${host}.eks.test` },
        sensitive,
      }
    }
    const world = await ready({}, { outputs })
    host = 'two'
    await world.edit(CAPTControlPlane, 'demo', { spec: { additionalTags: { Team: 'a' } } })
    await world.settle()
    assert.match(textOf(world), /https:\/\/two\.eks\.test/)
    assert.equal(world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')?.spec.controlPlaneEndpoint?.host, 'two.eks.test')
  })

  it('is the one the template gives, when it gives one: no token is signed', async () => {
    const outputs: ClusterWorldOptions['outputs'] = (apply) => {
      const { plain, sensitive = {} } = eksOutputs(apply)
      const own = { cluster_endpoint: 'https://127.0.0.1:38211/workloads/default/demo' }
      return 'vpc_id' in plain
        ? { plain }
        : { plain: { ...plain, ...own }, sensitive: { ...sensitive, kubeconfig: 'kind: Config' } }
    }
    const world = await ready({}, { outputs })
    assert.equal(textOf(world), 'kind: Config')
    assert.deepEqual(world.aws.calls, [])
    assert.equal(statusOf(world).kubeconfig, undefined)
    assert.deepEqual(world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')?.spec.controlPlaneEndpoint, {
      host: '127.0.0.1',
      port: 38211,
    })
    const before = world.cluster.requests.length
    await world.clock.advance(60 * MINUTE)
    assert.equal(world.cluster.requests.length, before)
  })
})

describe('the other Secrets', () => {
  it('give people a kubeconfig that asks the AWS command line', async () => {
    const roleArn = 'arn:aws:iam::123456789012:role/admin'
    const world = await ready({ infra: { identity: { roleArn } } })
    const { exec } = parse(textOf(world, 'demo-user-kubeconfig')).users[0].user
    assert.equal(exec.command, 'aws')
    assert.deepEqual(exec.args, [
      '--region',
      'eu-west-1',
      'eks',
      'get-token',
      '--cluster-name',
      'demo',
      '--output',
      'json',
      '--role-arn',
      roleArn,
    ])
    assert.deepEqual(world.aws.calls[0]?.identity, { role: { arn: roleArn } })
  })

  it('keep the CA current, decoded once (B11)', async () => {
    let ca = 'first'
    const outputs: ClusterWorldOptions['outputs'] = (apply) => ({
      plain: eksOutputs(apply).plain,
      sensitive: { cluster_certificate_authority_data: Buffer.from(ca).toString('base64') },
    })
    const world = await ready({}, { outputs })
    const read = () => Buffer.from(secretOf(world, 'demo-ca').data!['tls.crt']!, 'base64').toString()
    assert.equal(read(), 'first')
    assert.equal(
      world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')?.spec.controlPlaneEndpoint?.host,
      'demo.eks.test',
    )
    ca = 'second'
    await world.edit(CAPTControlPlane, 'demo', { spec: { additionalTags: { Team: 'a' } } })
    await world.settle()
    assert.equal(read(), 'second')
  })
})

describe('the identity of a cluster', () => {
  const keys = (
    namespace: string,
    annotations = {},
    data: Record<string, string> = { AWS_ACCESS_KEY_ID: 'AKIA1', AWS_SECRET_ACCESS_KEY: 's' },
  ): Secret => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'keys', namespace, annotations },
    type: 'Opaque',
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
  })

  it('is read from its Secret at every refresh, so that rotation is picked up', async () => {
    const world = await ready()
    world.cluster.seed(SecretKind, keys('default'))
    await world.edit(CAPTControlPlane, 'demo', { spec: { identity: { secretRef: { name: 'keys' } } } })
    await world.settle()
    assert.equal(world.aws.calls.at(-1)?.identity.keys?.accessKeyId, 'AKIA1')
    await world.edit(SecretKind, 'keys', { data: { AWS_ACCESS_KEY_ID: Buffer.from('AKIA2').toString('base64') } })
    await world.clock.advance(11 * MINUTE)
    assert.equal(world.aws.calls.at(-1)?.identity.keys?.accessKeyId, 'AKIA2')
  })

  it('may lie in another namespace only where that allows it', async () => {
    const plane = { identity: { secretRef: { name: 'keys', namespace: 'shared' } } }
    const world = await ready({ plane })
    world.cluster.seed(SecretKind, keys('shared'))
    await world.clock.advance(30_000)
    await world.settle()
    assert.match(
      world.condition(CAPTControlPlane, 'demo', 'Ready')?.message ?? '',
      /may not be used from default.*allow-namespaces/,
    )
    await world.edit(
      SecretKind,
      'keys',
      { metadata: { annotations: { 'capt.appthrust.com/allow-namespaces': 'other, default' } } },
      'shared',
    )
    await world.clock.advance(10 * MINUTE)
    await world.settle()
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.status, 'True')
  })

  it('says which key its Secret lacks', async () => {
    const world = await ready({ plane: { identity: { secretRef: { name: 'keys' } } } })
    world.cluster.seed(SecretKind, keys('default', {}, { AWS_ACCESS_KEY_ID: 'AKIA1' }))
    await world.clock.advance(5 * MINUTE)
    await world.settle()
    assert.match(
      world.condition(CAPTControlPlane, 'demo', 'Ready')?.message ?? '',
      /lacks AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY/,
    )
  })
})

describe('an API server that does not answer yet', () => {
  it('is not called initialized until it does', async () => {
    let answer: string | undefined = 'connection refused'
    const world = await ready({}, { controllers: { reach: async () => answer } })
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.reason, 'APIServerUnreachable')
    assert.equal(statusOf(world).initialized, false)
    answer = undefined
    await world.clock.advance(11_000)
    await world.settle()
    assert.equal(statusOf(world).initialized, true)
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.status, 'True')
  })
})
