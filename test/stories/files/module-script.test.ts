// The module's script against a stand-in for the cluster's API: one aws-auth entry comes and goes, everything else stays
// byte for byte, and a destroy is held back while NodePools exist. Plain sh and curl; no kubectl.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { planted } from '../../support/secrets/planted.ts'
import { findOnPath, findTool } from '../../support/tools.ts'

const busybox = findTool('busybox')
const SCRIPT = join(import.meta.dirname, '../../../modules/karpenter/scripts/cluster.sh')
const ROLE = 'arn:aws:iam::111122223333:role/KarpenterNodeRole-demo'
const NODE_GROUP =
  '- groups:\n  - system:bootstrappers\n  - system:nodes\n  rolearn: arn:aws:iam::111122223333:role/ng\n  username: system:node:{{EC2PrivateDNSName}}\n'
const ODD =
  '# kept: "quotes", back\\slashes, tabs\t and ünïcode\n- {rolearn: "arn:aws:iam::1:role/admin", username: admin, groups: [system:masters]}\n'
const ENTRY = `- groups:\n  - system:bootstrappers\n  - system:nodes\n  rolearn: ${ROLE}\n  username: system:node:{{EC2PrivateDNSName}}\n`

const cluster = {
  mapRoles: '' as string | undefined,
  mapUsers: 'untouched',
  version: 1,
  conflicts: 0,
  writes: 0,
  pools: undefined as string[] | undefined,
  claims: undefined as string[] | undefined,
  status: 0,
  tokens: new Set<string>(),
}
let server: Server
let endpoint: string

before(async () => {
  server = createServer(async (request, response) => {
    cluster.tokens.add(request.headers.authorization ?? '')
    const { status, body } = await answer(request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
after(() => server.close())
beforeEach(() =>
  Object.assign(cluster, {
    mapRoles: NODE_GROUP,
    version: 1,
    conflicts: 0,
    writes: 0,
    pools: undefined,
    claims: undefined,
    status: 0,
  }),
)

async function answer(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
  const path = new URL(request.url ?? '/', 'http://x').pathname
  if (cluster.status !== 0) return { status: cluster.status, body: {} }
  const listed = { '/apis/karpenter.sh/v1/nodepools': 'NodePool', '/apis/karpenter.sh/v1/nodeclaims': 'NodeClaim' }[
    path
  ]
  if (listed) {
    const names = listed === 'NodePool' ? cluster.pools : cluster.claims
    if (!names) return { status: 404, body: {} }
    const owner = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name: 'default', uid: 'y' }
    const items = names.map((name) => ({
      apiVersion: 'karpenter.sh/v1',
      kind: listed,
      metadata: { name, uid: 'x', ...(listed === 'NodeClaim' ? { ownerReferences: [owner] } : {}) },
    }))
    return { status: 200, body: { kind: `${listed}List`, metadata: { resourceVersion: '5' }, items } }
  }
  if (path === '/apis/karpenter.k8s.aws/v1/ec2nodeclasses') return { status: 404, body: {} }
  assert.equal(path, '/api/v1/namespaces/kube-system/configmaps/aws-auth')
  if (cluster.mapRoles === undefined) return { status: 404, body: {} }
  if (request.method === 'PATCH') {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const patch = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
      metadata: { resourceVersion: string }
      data: { mapRoles: string }
    }
    assert.equal(request.headers['content-type'], 'application/merge-patch+json')
    if (cluster.conflicts-- > 0) cluster.version++
    if (patch.metadata.resourceVersion !== String(cluster.version)) return { status: 409, body: {} }
    cluster.mapRoles = patch.data.mapRoles
    cluster.version++
    cluster.writes++
  }
  const metadata = { name: 'aws-auth', namespace: 'kube-system', resourceVersion: String(cluster.version) }
  return {
    status: 200,
    body: {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata,
      data: { mapRoles: cluster.mapRoles, mapUsers: cluster.mapUsers },
    },
  }
}

interface Ran {
  readonly code: number
  readonly stderr: string
}

function run(verb: string, env: Record<string, string> = {}): Promise<Ran> {
  const environment = {
    PATH: process.env['PATH'] ?? '',
    ENDPOINT: endpoint,
    CLUSTER_NAME: 'demo',
    REGION: 'eu-west-1',
    ROLE_ARN: ROLE,
    KUBE_TOKEN: planted('kube-token'),
    ...env,
  }
  return new Promise((resolve) => {
    execFile('sh', [SCRIPT, verb], { env: environment, timeout: 30_000 }, (error, _stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stderr }),
    )
  })
}

describe('the entry in aws-auth', () => {
  for (const [what, roles, expected] of [
    ['beside the node group', NODE_GROUP, NODE_GROUP + ENTRY],
    ['beside entries in any spelling', ODD + NODE_GROUP, ODD + NODE_GROUP + ENTRY],
    ['after a text without a last line break', NODE_GROUP.trimEnd(), `${NODE_GROUP.trimEnd()}\n${ENTRY}`],
    ['in an empty list', '', ENTRY],
  ] as const) {
    it(`is added ${what}, once, and taken out again`, async () => {
      cluster.mapRoles = roles
      assert.deepEqual(await run('aws-auth-add'), { code: 0, stderr: '' })
      assert.equal(cluster.mapRoles, expected)
      assert.deepEqual(await run('aws-auth-add'), { code: 0, stderr: '' })
      assert.equal(cluster.writes, 1)
      assert.deepEqual(await run('aws-auth-remove'), { code: 0, stderr: '' })
      assert.equal(cluster.mapRoles, expected.slice(0, -ENTRY.length))
      assert.deepEqual(await run('aws-auth-remove'), { code: 0, stderr: '' })
      assert.equal(cluster.writes, 2)
    })
  }

  for (const [what, sed] of [
    ['a sed that knows POSIX alone', `${findOnPath('sed')} --posix`],
    ['the sed of busybox', busybox && `${busybox} sed`],
  ] as const)
    it(`keeps every other entry, and the gates hold, with ${what}`, {
      skip: !sed && 'busybox is not installed',
    }, async () => {
      const tools = mkdtempSync(join(tmpdir(), 'capt-posix-'))
      writeFileSync(join(tools, 'sed'), `#!/bin/sh\nexec ${sed} "$@"\n`, { mode: 0o755 })
      try {
        cluster.mapRoles = ODD + NODE_GROUP
        const path = `${tools}:${process.env['PATH']}`
        assert.deepEqual(await run('aws-auth-add', { PATH: path }), { code: 0, stderr: '' })
        assert.equal(cluster.mapRoles, ODD + NODE_GROUP + ENTRY)
        cluster.pools = ['default', 'ops']
        assert.match((await run('gate', { PATH: path })).stderr, /^NodePools still exist in demo: default ops\n/)
        Object.assign(cluster, { pools: [], claims: [] })
        assert.deepEqual(await run('drained', { PATH: path }), { code: 0, stderr: '' })
        assert.deepEqual(await run('aws-auth-remove', { PATH: path }), { code: 0, stderr: '' })
        assert.equal(cluster.mapRoles, ODD + NODE_GROUP)
      } finally {
        rmSync(tools, { recursive: true })
      }
    })

  it('is not written when the entries of others cannot be read', async () => {
    const tools = mkdtempSync(join(tmpdir(), 'capt-no-awk-'))
    writeFileSync(join(tools, 'awk'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
    try {
      const { code, stderr } = await run('aws-auth-add', { PATH: `${tools}:${process.env['PATH']}` })
      assert.equal(code, 1)
      assert.match(stderr, /cannot be read; nothing was changed/)
      assert.equal(cluster.mapRoles, NODE_GROUP)
    } finally {
      rmSync(tools, { recursive: true })
    }
  })

  it('survives somebody else writing at the same time', async () => {
    cluster.conflicts = 1
    assert.equal((await run('aws-auth-add')).code, 0)
    assert.equal(cluster.mapRoles, NODE_GROUP + ENTRY)
  })

  it('is left alone when somebody changed it', async () => {
    const changed = ENTRY.replace('system:nodes', 'system:nodes\n  - extra')
    cluster.mapRoles = NODE_GROUP + changed
    const { code, stderr } = await run('aws-auth-remove')
    assert.equal(code, 0)
    assert.match(stderr, /was changed by someone and is left alone/)
    assert.equal(cluster.mapRoles, NODE_GROUP + changed)
  })

  it('is not written for a role with a path, which aws-auth never matches', async () => {
    const { code, stderr } = await run('aws-auth-add', { ROLE_ARN: 'arn:aws:iam::1:role/some/path/x' })
    assert.equal(code, 1)
    assert.match(stderr, /never matches a role with a path/)
    assert.equal(cluster.writes, 0)
  })

  it('reports a cluster that refuses, and needs nothing to be removed from one that has no aws-auth', async () => {
    cluster.status = 403
    assert.match((await run('aws-auth-add')).stderr, /Reading aws-auth of demo failed with status 403/)
    Object.assign(cluster, { status: 0, mapRoles: undefined })
    assert.equal((await run('aws-auth-remove')).code, 0)
    assert.equal((await run('aws-auth-add')).code, 1)
  })

  it('sends the token as a header', async () => {
    cluster.tokens.clear()
    await run('aws-auth-add')
    assert.deepEqual([...cluster.tokens], [`Bearer ${planted('kube-token')}`])
  })
})

describe('a destroy', () => {
  it('goes on when Karpenter was never installed, and when no NodePool is left', async () => {
    assert.deepEqual(await run('gate'), { code: 0, stderr: '' })
    Object.assign(cluster, { pools: [], claims: [] })
    assert.deepEqual(await run('gate'), { code: 0, stderr: '' })
  })

  it('is held back while NodePools exist, and says how to go on', async () => {
    cluster.pools = ['default', 'ops']
    const { code, stderr } = await run('gate')
    assert.equal(code, 1)
    assert.match(
      stderr,
      /NodePools still exist in demo: default ops\n[\s\S]*kubectl delete nodepools --all[\s\S]*Nothing was destroyed/,
    )
  })

  it('is held back while NodeClaims drain, although their NodePool is gone', async () => {
    Object.assign(cluster, { pools: [], claims: ['default-x7k2p'] })
    const { code, stderr } = await run('gate')
    assert.equal(code, 1)
    assert.match(stderr, /^NodeClaims still exist in demo: 1\n/)
  })

  it('goes on by force, and says what is left behind', async () => {
    cluster.pools = ['default']
    const { code, stderr } = await run('gate', { KARPENTER_FORCE_DESTROY: 'true' })
    assert.equal(code, 0)
    assert.match(stderr, /kubernetes.io\/cluster\/demo=owned and karpenter.sh\/nodepool are left behind/)
  })

  it('is held back when nobody can say, because the cluster does not answer or refuses', async () => {
    assert.match(
      (await run('gate', { ENDPOINT: 'http://127.0.0.1:1' })).stderr,
      /did not say whether NodePools exist \(status 000\)/,
    )
    cluster.status = 401
    assert.equal((await run('gate')).code, 1)
  })

  it('takes the token of the variable before that of the environment', async () => {
    cluster.tokens.clear()
    assert.equal((await run('gate', { AUTH_TOKEN: planted('of-the-variable') })).code, 0)
    assert.deepEqual([...cluster.tokens], [`Bearer ${planted('of-the-variable')}`])
  })

  it('needs a token', async () => {
    const { code, stderr } = await run('gate', { KUBE_TOKEN: '', PATH: '/usr/bin:/bin' })
    assert.equal(code, 1)
    assert.match(stderr, /No token for cluster demo/)
  })
})
