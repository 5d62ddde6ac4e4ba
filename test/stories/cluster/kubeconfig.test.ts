// Kubeconfigs that stay valid: a token is replaced before it ends, a failure is seen everywhere people look, and what a
// template gives itself takes precedence.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { parse } from 'yaml'
import { CAPTControlPlane, CLUSTER_SECRET_TYPE, type Secret, SecretKind } from '#api'
import { AwsError } from '#aws'
import { manualClock } from '#testing'
import {
  aCluster,
  applyAll,
  ClusterKind,
  type ClusterWorld,
  type ClusterWorldOptions,
  claimByHand,
  clusterWorld,
  eksOutputs,
  type FakeAws,
  fakeAws,
} from '../../support/cluster/world.ts'

const worlds: ClusterWorld[] = []
after(() => Promise.all(worlds.map((world) => world.stop())))

const MINUTE = 60_000

async function ready(
  over: Parameters<typeof aCluster>[1] = {},
  options: ClusterWorldOptions = {},
): Promise<ClusterWorld & { aws: FakeAws }> {
  // The fake reads the world's own clock once that exists.
  const box: { now: () => number } = { now: manualClock().now }
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

  const during = async (world: ClusterWorld, minutes: number): Promise<readonly string[]> => {
    const before = world.cluster.requests.length
    await world.clock.advance(minutes * MINUTE)
    await world.settle()
    return world.cluster.requests.slice(before).map(({ verb, kind, key }) => `${verb} ${kind} ${key}`)
  }

  it('costs two writes per refresh, and one look at each Secret, by name', async () => {
    const world = await ready()
    assert.deepEqual(await during(world, 10), [
      'patch Secret default/demo-kubeconfig',
      'get Secret default/demo-ca',
      'get Secret default/demo-user-kubeconfig',
      'get Secret default/demo-kubeconfig',
      'patch CAPTControlPlane default/demo',
    ])
  })

  it('costs two writes per refresh and no read where Secrets are watched', async () => {
    const world = await ready({}, { controllers: { secrets: 'watched' } })
    assert.deepEqual(await during(world, 10), [
      'patch Secret default/demo-kubeconfig',
      'patch CAPTControlPlane default/demo',
    ])
  })

  it('does not make an available cluster unavailable for a moment when it is replaced', async () => {
    const reached: string[] = []
    const world = await ready({}, { reach: async (kubeconfig) => void reached.push(kubeconfig) })
    assert.equal(world.condition(ClusterKind, 'demo', 'Available')?.status, 'True')
    const asked = await during(world, 30)
    assert.ok(new Set(reached).size >= 3, 'each new one was tried')
    assert.deepEqual(
      asked.filter((line) => line.startsWith('patch Cluster ')),
      [],
    )
  })

  it('needs no watch of Secrets: they are read by name, and nothing lists them', async () => {
    const world = await ready({}, { core: false })
    await claimByHand(world)
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.status, 'True')
    assert.throws(() => world.cluster.informers.list(SecretKind), /no informer for .*Secret/)
    assert.deepEqual(
      world.cluster.requests.filter(({ verb, kind }) => verb === 'list' && kind === 'Secret'),
      [],
    )
  })

  for (const [how, secrets] of [
    ['with the next refresh', undefined],
    ['at once where Secrets are watched', 'watched'],
  ] as const)
    for (const [what, spoil] of [
      ['deleted', (world: ClusterWorld, name: string) => world.remove(SecretKind, name)],
      ['emptied', (world: ClusterWorld, name: string) => world.edit(SecretKind, name, { data: null })],
      [
        'disowned',
        (world: ClusterWorld, name: string) =>
          world.edit(SecretKind, name, { metadata: { ownerReferences: null, labels: null } }),
      ],
    ] as const)
      it(`is mended ${how} when it was ${what} by hand, and so are the other Secrets`, async () => {
        const world = await ready({}, secrets ? { controllers: { secrets } } : {})
        const names = ['demo-ca', 'demo-kubeconfig', 'demo-user-kubeconfig']
        const data = (name: string) => Object.keys(secretOf(world, name).data ?? {})
        const before = names.map(data)
        for (const name of names) await spoil(world, name)
        if (!secrets) await world.clock.advance(10 * MINUTE)
        await world.settle()
        assert.deepEqual(names.map(data), before)
        for (const name of names) {
          const { labels, ownerReferences } = secretOf(world, name).metadata
          assert.equal(labels?.['cluster.x-k8s.io/cluster-name'], 'demo', name)
          assert.equal(ownerReferences?.[0]?.kind, 'CAPTControlPlane', name)
        }
        assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.status, 'True')
        assert.deepEqual(
          (await during(world, 5)).filter((request) => !request.startsWith('patch')),
          [],
          'and then there is quiet',
        )
      })

  it('is mended while a run fails: what people use does not wait for it', async () => {
    const world = await ready()
    world.failures.set('demo-eks-controlplane-apply', { kind: 'user', message: 'no', hint: 'fix it' })
    await world.settle()
    await world.remove(SecretKind, 'demo-kubeconfig')
    await world.clock.advance(10 * MINUTE)
    await world.settle()
    assert.ok(tokenOf(world))
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Stalled')?.reason, 'WorkspaceError')
  })

  it('reports a failed refresh by event, metric and condition, and the next one works', async () => {
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

  it('is recreated when its Secret is of the wrong type', async () => {
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

  it('is kept after a restart even while the cluster is paused', async () => {
    const world = await ready()
    await world.edit(ClusterKind, 'demo', { spec: { paused: true } })
    await world.settle()
    const token = tokenOf(world)
    const again = await clusterWorld({ aws: world.aws, cluster: world.cluster, clock: world.clock })
    worlds.push(again)
    world.stopControllers()
    await again.settle()
    await again.clock.advance(10 * MINUTE)
    assert.notEqual(tokenOf(again), token)
  })

  it('shows its age and its end as metrics, and takes them back with the cluster', async () => {
    const world = await ready()
    const labels = { namespace: 'default', cluster: 'demo' }
    await world.clock.advance(5 * MINUTE)
    assert.equal(world.metrics.value('capt_kubeconfig_age_seconds', labels), 5 * 60)
    assert.equal(
      world.metrics.value('capt_kubeconfig_expiry_timestamp_seconds', labels),
      Date.parse(statusOf(world).kubeconfig?.expiresAt ?? '') / 1000,
    )
    await world.remove(ClusterKind, 'demo')
    await world.settle()
    assert.equal(world.get(CAPTControlPlane, 'demo'), undefined)
    assert.equal(world.metrics.value('capt_kubeconfig_age_seconds', labels), undefined)
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
    const asked = world.cluster.requests.slice(before).map(({ verb, kind }) => `${verb} ${kind}`)
    assert.deepEqual(new Set(asked), new Set(['get Secret']), 'nobody watches it, so it is looked at')
    assert.ok(asked.length <= 3 * 8, `${asked.length} looks in an hour`)
  })

  it('is left alone when it does not end and somebody watches it', async () => {
    const outputs: ClusterWorldOptions['outputs'] = (apply) => {
      const { plain, sensitive = {} } = eksOutputs(apply)
      return { plain, sensitive: { ...sensitive, kubeconfig: 'kind: Config' } }
    }
    const world = await ready({}, { outputs, controllers: { secrets: 'watched' } })
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

  it('keep the CA current, decoded once', async () => {
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
