// capt dashboard as it ships, at the level of HTTP: size, headers, who is answered, what is streamed, TLS, and servers
// that have nothing of capt. test/browser drives the same page in Chromium.
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { request as requestTls } from 'node:https'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { connect as connectTls, type PeerCertificate } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { clusterKind, NamespaceKind } from '#api'
import { type ApiServer, startApiServer } from '#apiserver'
import { clusterDefinition, convertCluster } from '#core'
import { connect, loadKubeconfig } from '#kube'
import { createAuthority, issueCertificate, writeSecret } from '#lib'
import { planted } from '../support/secrets/planted.ts'
import { findTool } from '../support/tools.ts'
import { type Running, type Shipped, shippedProgram, waitUntil } from './support.ts'

const PAGE = join(import.meta.dirname, '../../dist/program/page')
const CLOCK = join(import.meta.dirname, '../support/shifted-clock.mjs')
const SECRET = planted('page')

interface Link {
  readonly base: string
  readonly token: string
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Reads until the body ends or contains the text. */
function ask(
  url: string,
  options: { headers?: Record<string, string>; method?: string; body?: string; until?: string },
) {
  const { headers = {}, method = 'GET', body, until } = options
  return new Promise<Answer>((resolve, reject) => {
    const send = url.startsWith('https:') ? requestTls : request
    const outgoing = send(url, { headers, method, rejectUnauthorized: false }, (answer) => {
      let text = ''
      const end = () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text })
      answer.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
        if (until !== undefined && text.includes(until)) {
          end()
          answer.destroy()
        }
      })
      answer.on('end', end).on('error', end)
    })
    outgoing.on('error', reject).end(body)
  })
}

function servedBy(base: string): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const at = { host: '127.0.0.1', port: Number(new URL(base).port), rejectUnauthorized: false }
    const socket = connectTls(at, () => {
      resolve(socket.getPeerCertificate())
      socket.destroy()
    }).on('error', reject)
  })
}

describe('The page that ships', () => {
  it('is at most 40 KB over the wire, gzipped, and names no other host', () => {
    const files = readdirSync(PAGE)
    assert.deepEqual(files.sort(), ['icon.svg', 'index.html', 'page.js', 'style.css'])
    const sizes = files.map((file) => gzipSync(readFileSync(join(PAGE, file))).length)
    const total = sizes.reduce((sum, size) => sum + size, 0)
    assert.ok(total <= 40 * 1024, `${total} bytes`)
    for (const file of files) {
      const hosts = readFileSync(join(PAGE, file), 'utf8').match(/https?:\/\/[\w.-]+/g) ?? []
      // Namespaces of SVG and MathML are names, not addresses.
      assert.deepEqual(
        hosts.filter((host) => host !== 'http://www.w3.org'),
        [],
        file,
      )
    }
  })

  it('is in no chunk that a manager loads', () => {
    const folder = join(PAGE, '..')
    const onDemand = JSON.parse(readFileSync(join(folder, '..', 'on-demand.json'), 'utf8')) as {
      imports: string
      chunk: string
    }[]
    const chunkOf = (path: string) => onDemand.find(({ imports }) => imports.endsWith(path))?.chunk
    const reached = new Set<string>()
    const visit = (chunk: string) => {
      if (reached.has(chunk)) return
      reached.add(chunk)
      const text = readFileSync(join(folder, chunk), 'utf8')
      for (const [, next] of text.matchAll(/\bfrom\s*["']\.\/([\w.-]+\.mjs)["']/g)) visit(next!)
    }
    visit(chunkOf('run/manager.ts') ?? assert.fail('the chunk of the manager'))
    assert.ok(reached.size > 3)
    const serving = [...reached].filter((chunk) =>
      readFileSync(join(folder, chunk), 'utf8').includes('text/event-stream'),
    )
    assert.deepEqual(serving, [])
  })
})

describe('capt dashboard', () => {
  let shipped: Shipped
  let server: ApiServer
  let kubeconfig: string
  const requests: string[] = []
  before(async () => {
    shipped = shippedProgram()
    // Core Cluster API alone: no kind of capt.
    server = await startApiServer({
      dataDir: join(shipped.folder, 'api'),
      crds: [clusterDefinition()],
      converters: { 'cluster.x-k8s.io/Cluster': convertCluster } as never,
      onRequest: ({ method, path }) => void requests.push(`${method} ${path}`),
    })
    kubeconfig = join(shipped.folder, 'kubeconfig')
    writeFileSync(kubeconfig, server.kubeconfig(), { mode: 0o600 })
    const connection = connect(await loadKubeconfig({ path: kubeconfig }))
    const spec = {
      infrastructureRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'DockerCluster', name: 'other' },
    }
    const team = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-a' } }
    await connection.objects.create(NamespaceKind, team)
    for (const metadata of [
      { namespace: 'default', name: 'other' },
      { namespace: 'team-a', name: 'shop' },
    ]) {
      const object = { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', metadata, spec }
      await connection.objects.create(clusterKind('v1beta2'), object as never)
    }
    await connection.close()
  })
  after(async () => {
    await shipped?.end()
    await server?.close()
  })

  const open = (...more: readonly string[]) => openWith({}, more)
  async function openWith(env: Record<string, string>, more: readonly string[]): Promise<Link & { running: Running }> {
    const running = shipped.start(['dashboard', '--kubeconfig', kubeconfig, ...more], { env })
    await running.untilSaid(/Dashboard: \S+/)
    const [, base = '', token = ''] = /Dashboard: (\S+)\/#token=(\S+)/.exec(running.out())!
    return { base, token, running }
  }
  const bearer = ({ token }: Link) => ({ authorization: `Bearer ${token}` })

  it('answers only with the token, only under its own name, with a strict policy, and reads nothing before', async () => {
    requests.length = 0
    const link = await open()
    const index = await ask(`${link.base}/clusters/default/other`, {})
    assert.equal(index.status, 200)
    const policy = String(index.headers['content-security-policy'])
    assert.match(policy, /^default-src 'none'; script-src 'self'; /)
    assert.doesNotMatch(policy, /unsafe|\*|https?:/)
    assert.equal(index.headers['set-cookie'], undefined)
    assert.equal((await ask(`${link.base}/api/stream`, {})).status, 401)
    assert.equal((await ask(`${link.base}/api/stream?token=${link.token}`, {})).status, 401)
    const rebound = { ...bearer(link), host: 'evil.example' }
    assert.equal((await ask(`${link.base}/api/stream`, { headers: rebound })).status, 421)
    assert.equal((await ask(`${link.base}/api/nothing`, { headers: bearer(link) })).status, 404)
    const why = 'it asks whether there is a server, and nothing before somebody with the token is there'
    assert.deepEqual(requests, ['GET /version'], why)
    const fleet = await ask(`${link.base}/api/stream`, { headers: bearer(link), until: '"default/other"' })
    assert.match(fleet.body, /event: hello[\s\S]*event: fleet/, 'a server with core Cluster API alone')
    assert.ok(!link.running.err().includes(link.token), 'the token is not logged')
    assert.equal(await link.running.stop('SIGINT'), 130)
  })

  it('shows and reads one namespace only where -n asks for it', async () => {
    requests.length = 0
    const link = await open('-n', 'team-a')
    const fleet = await ask(`${link.base}/api/stream`, { headers: bearer(link), until: '"team-a/shop"' })
    assert.doesNotMatch(fleet.body, /default\/other/)
    const lists = requests.filter((one) => /cluster\.x-k8s\.io\/v1beta\d\/\S*clusters\b/.test(one))
    assert.ok(lists.length > 0)
    assert.deepEqual(
      lists.filter((one) => !one.includes('/namespaces/team-a/')),
      [],
    )
    await link.running.stop('SIGINT')
  })

  it('refuses to approve when it is read-only, and what another site sends', async () => {
    const [readOnly, writable] = [await open(), await open('--allow-writes')]
    const body = JSON.stringify({ namespace: 'default', name: 'x', plan: 'deadbeefdeadbeef' })
    const post = (link: Link, headers: Record<string, string>) =>
      ask(`${link.base}/api/approve`, {
        method: 'POST',
        body,
        headers: { ...bearer(link), 'content-type': 'application/json', ...headers },
      })
    assert.deepEqual(
      [await post(readOnly, { origin: readOnly.base }), await post(writable, { origin: 'http://evil.example' })].map(
        ({ status }) => status,
      ),
      [403, 403],
    )
    assert.equal((await post(writable, {})).status, 403, 'without an origin')
    const asked = await post(writable, { origin: writable.base })
    assert.equal(asked.status, 409, asked.body)
    assert.match(asked.body, /"code":"CAPT_KUBE_KIND_NOT_SERVED"|"code":"CAPT_\w+"/)
    for (const { running } of [readOnly, writable]) await running.stop()
  })

  it('is TLS beyond this machine', async () => {
    const link = await open('--listen', '0.0.0.0:0')
    assert.match(link.base, /^https:/)
    const at = link.base.replace(/^https:\/\/.+:/, 'https://127.0.0.1:')
    const fleet = await ask(`${at}/api/stream`, { headers: bearer(link), until: '"default/other"' })
    assert.equal(fleet.status, 200)
    await link.running.stop()
  })

  it('takes a certificate that was replaced in its files, and renews the one it made, without a restart', async () => {
    const [days, cert, key] = ['days', 'tls.crt', 'tls.key'].map((name) => join(shipped.folder, name)) as [
      string,
      string,
      string,
    ]
    const write = () => {
      const leaf = issueCertificate(createAuthority(), { ips: ['127.0.0.1'], days: 400 })
      writeSecret(key, leaf.key)
      writeSecret(cert, leaf.certificate)
      return new X509Certificate(leaf.certificate).fingerprint256
    }
    writeSecret(days, '0')
    const first = write()
    const env = { NODE_OPTIONS: `--import=${CLOCK}`, SHIFTED_DAYS: days, SHIFTED_TIMERS_MS: '60000' }
    const given = await openWith(env, ['--tls-cert', cert, '--tls-key', key])
    const made = await openWith(env, ['--listen', '0.0.0.0:0'])
    const [ofFiles, ofItself] = [await servedBy(given.base), await servedBy(made.base)]
    assert.equal(ofFiles.fingerprint256, first)
    const next = write()
    writeSecret(days, '340')
    await waitUntil('the next file', async () => (await servedBy(given.base)).fingerprint256 === next)
    const renewed = async () => Date.parse((await servedBy(made.base)).valid_to) > Date.parse(ofItself.valid_to)
    await waitUntil('the next certificate', renewed)
    for (const { running } of [given, made]) await running.stop()
  })

  it('refuses half a certificate, an address that is none, and surplus arguments', async () => {
    for (const [args, text] of [
      [['--tls-cert', 'x'], /--tls-cert and --tls-key belong together/],
      [['--listen', 'nowhere'], /--listen nowhere is not an address/],
      [['surplus'], /Unexpected argument 'surplus'/],
    ] as const) {
      const { code, err } = await shipped.capt(['dashboard', '--kubeconfig', kubeconfig, ...args])
      assert.deepEqual([code, text.test(err)], [2, true], err)
    }
  })
})

describe('The plan on the page', { skip: findTool('terraform') ? false : 'terraform is not installed' }, () => {
  let shipped: Shipped
  before(() => {
    shipped = shippedProgram()
  })
  after(() => shipped.end())

  it('shows every attribute but the sensitive ones, and no secret reaches the page', async () => {
    const home = await shipped.up()
    const api = 'infrastructure.cluster.x-k8s.io/v1beta1'
    const module = `variable "password" {\n  type = string\n  sensitive = true\n}\nresource "terraform_data" "a" {\n  input = { cidr = "10.0.0.0/16", password = var.password }\n}`
    const items = [
      {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'Cluster',
        metadata: { name: 'demo' },
        spec: { infrastructureRef: { apiGroup: 'x.example', kind: 'Other', name: 'demo' } },
      },
      {
        apiVersion: api,
        kind: 'WorkspaceTemplate',
        metadata: { name: 'a' },
        spec: { template: { spec: { forProvider: { source: 'Inline', module } } } },
      },
      {
        apiVersion: api,
        kind: 'WorkspaceTemplateApply',
        metadata: { name: 'a', labels: { 'cluster.x-k8s.io/cluster-name': 'demo' } },
        spec: { templateRef: { name: 'a' }, approval: 'Manual', values: { password: SECRET } },
      },
    ]
    const file = join(shipped.folder, 'a.json')
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    await shipped.captOk(['apply', '-f', file, '--kubeconfig', home.kubeconfig])
    const link = join(home.dataDir, 'dashboard-url')
    await waitUntil('the link', () => readdirSync(home.dataDir).includes('dashboard-url'))
    const [, base = '', token = ''] = /^(\S+)\/#token=(\S+)/.exec(readFileSync(link, 'utf8'))!
    const headers = { authorization: `Bearer ${token}` }
    const { body } = await ask(`${base}/api/stream?cluster=default/demo&run=a`, {
      headers,
      until: 'event: plan\ndata: {"plan":{',
    })
    const rest = await ask(`${base}/api/stream?cluster=default/demo&run=a`, { headers, until: '(sensitive value)' })
    assert.match(rest.body, /cidr\s+= \\"10\.0\.0\.0\/16\\"/)
    assert.ok(!(body + rest.body).includes(SECRET))
    await home.stop()
  })
})
