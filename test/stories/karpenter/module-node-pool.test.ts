// The first NodePool of modules/karpenter: what the catalogue gives, an image that stays, subnets that no other cluster loses,
// and a destroy in which the pool goes before Karpenter. Terraform is real; AWS and Helm are stubs, the cluster is a server.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { defaultNodeClass, defaultNodePool } from '#catalog'
import {
  evaluate,
  quietTerraform,
  readModule,
  type StubbedCluster,
  writeStubbed,
} from '../../support/karpenter-module.ts'
import { planted } from '../../support/secrets/planted.ts'
import { findTool, run } from '../../support/tools.ts'

const terraform = findTool('terraform')
const POOLS = { 'subnet-b': zone('b'), 'subnet-a': zone('a'), 'subnet-a2': zone('a') }

function zone(letter: string, tags = {}) {
  return { availability_zone: `eu-west-1${letter}`, tags }
}

describe('the first NodePool of the Karpenter module', { skip: !terraform && 'terraform is not installed' }, () => {
  let server: Server
  let root: string
  let site: StubbedCluster
  /** In the order in which they come: questions as KIND, removals as DELETE NAME. */
  let asked: string[]
  const cluster = { pools: [] as string[], claims: 0, drains: true, classes: 0 }

  before(async () => {
    server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x')
      const name = pathname.split('/').at(-1)!
      asked.push(request.method === 'DELETE' ? `DELETE ${name}` : name)
      if (request.method === 'DELETE' && name === 'node-pool')
        cluster.pools = cluster.pools.filter((pool) => pool !== 'default')
      if (name === 'nodeclaims' && cluster.claims > 0 && !cluster.pools.includes('default') && cluster.drains)
        if (--cluster.claims === 0) cluster.classes = 0
      const other = /^metadata\.name!=(.*)$/.exec(searchParams.get('fieldSelector') ?? '')?.[1]
      const items = {
        nodepools: cluster.pools.filter((pool) => pool !== other).map((pool) => item('NodePool', pool)),
        nodeclaims: Array.from({ length: cluster.claims }, (_, i) => item('NodeClaim', `default-${i}`)),
        ec2nodeclasses: Array.from({ length: cluster.classes }, () => item('EC2NodeClass', 'default')),
      }[name]
      response.end(JSON.stringify({ items }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    site = { version: '1.35', release: '1.35.2-20261102', subnets: POOLS, endpoint }
  })
  after(() => server.close())
  afterEach(() => rmSync(root, { recursive: true, force: true }))
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'capt-module-pool-'))
    asked = []
    Object.assign(cluster, { pools: ['default'], claims: 2, drains: true, classes: 1 })
  })

  const item = (kind: string, name: string) => ({ kind, metadata: { name } })
  const tf = (...args: readonly string[]) =>
    run('terraform', [...args, '-input=false', '-no-color'], {
      cwd: root,
      env: { ...(quietTerraform() as Record<string, string>), KUBE_TOKEN: planted('kube-token'), POLL_SECONDS: '1' },
      timeoutMs: 120_000,
    })
  const apply = async (inputs: Record<string, unknown>, more: Partial<StubbedCluster> = {}, ...args: string[]) => {
    writeStubbed(root, inputs, { ...site, ...more })
    const { code, err } = await tf('apply', '-auto-approve', ...args)
    assert.equal(code, 0, err)
    const { outputs } = JSON.parse(readFileSync(join(root, 'terraform.tfstate'), 'utf8')) as {
      outputs: { objects: { value: unknown[] } }
    }
    return outputs.objects.value
  }
  const imageOf = (objects: readonly unknown[]) =>
    (objects[0] as { spec: { amiSelectorTerms: [{ alias: string }] } }).spec.amiSelectorTerms[0].alias

  it('is the pool and the class that the catalogue gives, and comes on request alone', async () => {
    assert.deepEqual(await apply({}), [])
    const spec = {
      clusterName: 'demo',
      instanceProfile: 'KarpenterNodeInstanceProfile-demo',
      zones: ['eu-west-1a', 'eu-west-1b'],
      amiAlias: 'al2023@v20261102',
    }
    assert.deepEqual(await apply({ default_node_pool: true }), [defaultNodeClass(spec), defaultNodePool(spec)])
    const chosen = { name: 'ops', zones: ['eu-west-1b'], cpuLimit: 10, consolidateAfter: '5m', expireAfter: '720h' }
    assert.deepEqual(
      await apply({
        default_node_pool: true,
        discovery_tag: 'karpenter.sh/discovery/demo',
        node_pool: {
          name: 'ops',
          zones: ['eu-west-1b'],
          cpu_limit: 10,
          consolidate_after: '5m',
          expire_after: '720h',
          capacity_types: ['spot', 'on-demand'],
        },
      }),
      [defaultNodeClass, defaultNodePool].map((make) =>
        make({
          ...spec,
          ...chosen,
          capacityTypes: ['spot', 'on-demand'],
          discoveryTag: 'karpenter.sh/discovery/demo',
        }),
      ),
    )
  })

  it('keeps its image when EKS recommends another, until it is replaced or the cluster is upgraded', async () => {
    const later = { release: '1.35.4-20261201' }
    const inputs = { default_node_pool: true }
    assert.equal(imageOf(await apply(inputs)), 'al2023@v20261102')
    writeStubbed(root, inputs, { ...site, ...later })
    assert.equal((await tf('plan', '-detailed-exitcode')).code, 0, 'a second plan is empty')
    assert.equal(imageOf(await apply(inputs, later, '-replace=terraform_data.image[0]')), 'al2023@v20261201')
    const upgraded = { version: '1.36', release: '1.36.0-20261210' }
    assert.equal(imageOf(await apply(inputs, upgraded)), 'al2023@v20261210')
    const node_pool = { image: 'al2023@v20261115' }
    assert.equal(imageOf(await apply({ ...inputs, node_pool }, upgraded)), 'al2023@v20261115')
  })

  it('refuses what cannot work', async () => {
    for (const node_pool of [
      { image: 'al2023@latest' },
      { consolidation_policy: 'WhenUnderutilized' },
      { capacity_types: ['ondemand'] },
    ])
      assert.throws(() => evaluate([], { node_pool }, []), /Invalid value for variable/)
    for (const [inputs, more, expected] of [
      [{ install_chart: false }, {}, /default_node_pool needs install_chart/],
      [{}, { release: 'unknown' }, /EKS names no Amazon Linux 2023 image for Kubernetes 1\.35/],
      [
        {},
        { subnets: { 'subnet-a': zone('a', { 'karpenter.sh/discovery': 'other' }) } },
        /Subnet subnet-a already carries[\s\S]*for another cluster/,
      ],
    ] as const) {
      writeStubbed(root, { default_node_pool: true, ...inputs }, { ...site, ...more })
      const { code, err } = await tf('plan')
      assert.equal(code, 1)
      assert.match(err.replace(/\n│? */g, ' '), expected)
    }
  })

  it('shares a subnet with another cluster under a key of its own', async () => {
    const subnets = { 'subnet-a': zone('a', { 'karpenter.sh/discovery': 'other' }) }
    await apply({ discovery_tag: 'karpenter.sh/discovery/demo' }, { subnets })
  })

  it('goes before Karpenter, which stays until its machines and its class have ended', async () => {
    await apply({ default_node_pool: true })
    const { code, err } = await tf('destroy', '-auto-approve')
    assert.equal(code, 0, err)
    assert.deepEqual(
      asked.filter((one) => one.startsWith('DELETE')),
      ['DELETE node-pool', 'DELETE release'],
    )
    assert.equal(asked[0], 'nodepools', 'the gate asks before anything goes')
    assert.equal(asked.filter((one) => one === 'ec2nodeclasses').length >= 2, true, 'it waits between the two')
    assert.deepEqual([cluster.claims, cluster.classes], [0, 0])
  })

  it('is not destroyed while pools of other people exist, and Karpenter is not while machines do not end', async () => {
    await apply({ default_node_pool: true, drain_timeout: 1 })
    cluster.pools = ['default', 'ops']
    const held = await tf('destroy', '-auto-approve')
    assert.equal(held.code, 1)
    assert.match(held.out + held.err, /NodePools still exist in demo: ops[\s\S]*Nothing was destroyed/)
    assert.deepEqual(asked, ['nodepools'])
    Object.assign(cluster, { pools: ['default'], drains: false })
    const stuck = await tf('destroy', '-auto-approve')
    assert.equal(stuck.code, 1)
    assert.match(stuck.out + stuck.err, /NodeClaims still exist in demo: 2[\s\S]*Karpenter was not touched/)
    assert.ok(!asked.includes('DELETE release'))
    cluster.drains = true
    assert.equal((await tf('destroy', '-auto-approve')).code, 0, 'destroyed again, it goes on')
    assert.equal(asked.at(-1), 'DELETE release')
  })

  it('is brought by a chart that writes the objects as they are', () =>
    assert.equal(
      readModule('charts/node-pool/templates/objects.yaml'),
      '{{- range .Values.objects }}\n---\n{{ toYaml . }}\n{{- end }}\n',
    ))
})
