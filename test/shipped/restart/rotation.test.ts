// What capt issues and what it is given change while it runs: tokens, links, certificates and kubeconfigs. Nobody restarts
// anything.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import {
  ALL_KINDS,
  conditionOf,
  NamespaceKind,
  toCustomResourceDefinition,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { type ApiServer, startApiServer } from '#apiserver'
import { clusterDefinition, convertCluster, resourceSetDefinitions } from '#core'
import { connect, loadKubeconfig } from '#kube'
import { createAuthority, writeSecret } from '#lib'
import { anApply, aTemplate } from '#testing'
import { findTool } from '../../support/tools.ts'
import { type Shipped, shippedProgram, waitUntil } from '../support.ts'

const skip = findTool('terraform') ? false : 'terraform is not installed'
const CLOCK = join(import.meta.dirname, '..', '..', 'support', 'shifted-clock.mjs')
const EXAMPLE = join(import.meta.dirname, '..', '..', '..', 'examples', 'simulation.yaml')
const DAY_MS = 86_400_000
const tokenIn = (file: string): string => /token: (\S+)/.exec(readFileSync(file, 'utf8'))?.[1] ?? ''

/** Status of a request with this token. */
function codeOf(url: string, token: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    request(`${url}/api/v1/namespaces/default`, { headers, rejectUnauthorized: false, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
      .on('error', reject)
      .end()
  })
}

describe('what capt issues is replaced before it ends', { skip }, () => {
  let shipped: Shipped
  before(() => {
    shipped = shippedProgram()
  })
  after(() => shipped.end())

  it('a run, a client and the page go on while the tokens of a home are replaced again and again', async () => {
    const home = await shipped.up('short', ['--token-lifetime', '6s'])
    const gate = join(shipped.folder, 'gate')
    const first = tokenIn(home.kubeconfig)
    const link = join(home.dataDir, 'dashboard-url')
    await waitUntil('the link', () => existsSync(link))
    const firstLink = readFileSync(link, 'utf8').trim()
    const connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
    const at = { namespace: 'default', name: 'long' }
    const get = () => connection.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, at)
    try {
      const command = `touch ${gate}.reached; while [ ! -e ${gate} ]; do sleep 0.1; done`
      const module = `resource "terraform_data" "x" {\n  provisioner "local-exec" { command = ${JSON.stringify(command)} }\n}`
      await connection.objects.create(WorkspaceTemplate, aTemplate(module, {}, at))
      await connection.objects.create(WorkspaceTemplateApply, anApply({ templateRef: { name: 'long' } }, at))
      await waitUntil('the run', () => existsSync(`${gate}.reached`))
      const during = tokenIn(home.kubeconfig)
      await waitUntil('the end of the tokens of before', async () => {
        const codes = [await codeOf(home.url, first), await codeOf(home.url, during)]
        return codes.every((code) => code === 401)
      })
      assert.ok(await connection.objects.get(NamespaceKind, { name: 'default' }), 'an open client reads the file again')
      await shipped.captOk(['get', 'wtapply', '--kubeconfig', home.kubeconfig])
      assert.equal(statSync(home.kubeconfig).mode & 0o777, 0o600)
      assert.equal(existsSync(`${home.kubeconfig}.new`), false)

      const pageCode = async (text: string) => {
        const [, base = '', token = ''] = /^(\S+)#token=(\S+)$/.exec(text.trim()) ?? []
        const answer = await fetch(`${base}api/none`, { headers: { authorization: `Bearer ${token}` } })
        return answer.status
      }
      await waitUntil('the end of the first link', async () => (await pageCode(firstLink)) === 401)
      await waitUntil('the link of now', async () => (await pageCode(readFileSync(link, 'utf8'))) === 404)

      writeFileSync(gate, '')
      let last: WorkspaceTemplateApply | undefined
      await waitUntil(
        'the end of the run',
        async () => {
          last = await get()
          return last?.status?.phase === 'Applied'
        },
        120_000,
        () => JSON.stringify(last?.status),
      )
      assert.equal(last?.status?.attempts ?? 1, 1, 'the run was never interrupted')
      for (const secret of [first, during, tokenIn(home.kubeconfig)]) assert.ok(!home.err().includes(secret))
    } finally {
      await connection.close()
    }
    await home.stop()
  })

  it('the tokens of a home after 60 days, its certificate after 795, its authority in the last year', async () => {
    const days = join(shipped.folder, 'days')
    const env = { NODE_OPTIONS: `--import=${CLOCK}`, SHIFTED_DAYS: days }
    // Clients check certificates by the real date, so the home begins in the past.
    writeSecret(days, '-95')
    const former = createAuthority({ name: 'capt embedded authority', now: Date.now() - 3305 * DAY_MS })
    mkdirSync(join(shipped.folder, 'long'), { mode: 0o700 })
    writeFileSync(join(shipped.folder, 'long', 'authority.json'), JSON.stringify(former), { mode: 0o600 })
    const home = await shipped.up('long', ['--engine', 'simulated', '--dashboard', 'off'], { env })
    const configs = [home.kubeconfig, join(home.dataDir, 'runs', 'kubeconfig')]
    const formerCa = Buffer.from(former.certificate).toString('base64')
    const trusting = () => configs.filter((file) => readFileSync(file, 'utf8').includes(formerCa)).length
    assert.equal(trusting(), 2, 'the authority has more than a year')

    // A simulated cluster has a token of its own, which Terraform hands on to its kubeconfig.
    await shipped.captOk(['apply', '-f', EXAMPLE, '--kubeconfig', home.kubeconfig])
    const workload = async () =>
      /token: (\S+)/.exec(
        (await shipped.capt(['kubeconfig', 'demo', '--token', '--kubeconfig', home.kubeconfig])).out,
      )?.[1] ?? ''
    await waitUntil('the kubeconfig of the cluster', async () => (await workload()) !== '')
    const firstOfWorkload = await workload()
    const codeOfWorkload = (token: string) => codeOf(`${home.url}/workloads/default/demo`, token)
    assert.equal(await codeOfWorkload(firstOfWorkload), 200)

    const first = tokenIn(home.kubeconfig)
    writeSecret(days, '-36')
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.equal(tokenIn(home.kubeconfig), first)
    writeSecret(days, '-34')
    await waitUntil('the next token', () => tokenIn(home.kubeconfig) !== first)
    const second = tokenIn(home.kubeconfig)
    assert.deepEqual([await codeOf(home.url, first), await codeOf(home.url, second)], [200, 200])
    // The Secret first, then Terraform: sources of a template are read every quarter of an hour.
    let day = -34
    await waitUntil('the next token of the cluster', async () => {
      day += 0.02
      writeSecret(days, `${day}`)
      return !['', firstOfWorkload].includes(await workload())
    })
    const secondOfWorkload = await workload()
    assert.deepEqual([await codeOfWorkload(firstOfWorkload), await codeOfWorkload(secondOfWorkload)], [200, 200])
    writeSecret(days, '-3')
    await waitUntil('the end of the overlap', async () => (await codeOf(home.url, first)) === 401)
    assert.equal(await codeOfWorkload(firstOfWorkload), 401)
    assert.equal(await codeOfWorkload(secondOfWorkload), 200)
    await waitUntil('the next certificate of the authority', () => trusting() === 0)
    await shipped.captOk(['get', 'clusters', '--kubeconfig', home.kubeconfig])
    const copy = join(shipped.folder, 'former.kubeconfig')
    const config = readFileSync(home.kubeconfig, 'utf8')
    writeFileSync(copy, config.replace(/(certificate-authority-data:).*/, `$1 ${formerCa}`), { mode: 0o600 })
    await shipped.captOk(['get', 'clusters', '--kubeconfig', copy])

    const before = await endOfServed(home.url)
    writeSecret(days, '705')
    await waitUntil('the next certificate', async () => (await endOfServed(home.url)) > before + 700 * DAY_MS)
    await home.stop('SIGKILL')
  })
})

function endOfServed(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const { hostname: host, port } = new URL(url)
    const socket: TLSSocket = connectTls({ host, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(Date.parse(socket.getPeerCertificate().valid_to))
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

describe('a manager takes the credentials of its kubeconfig as they are now', { skip }, () => {
  let shipped: Shipped
  let server: ApiServer
  before(async () => {
    shipped = shippedProgram()
    server = await startApiServer({
      dataDir: join(shipped.folder, 'management'),
      tokenLifetimeMs: 6_000,
      crds: [...ALL_KINDS.map(toCustomResourceDefinition), clusterDefinition(), ...resourceSetDefinitions()],
      converters: { 'cluster.x-k8s.io/Cluster': convertCluster } as never,
    })
  })
  after(async () => {
    await server?.close()
    await shipped?.end()
  })

  const asTokenFile = (text: string, file: string) => text.replace(/token: \S+/, `tokenFile: ${file}`)
  for (const [name, what, args, env] of [
    ['named', 'a token in the file that was named', ['--kubeconfig', 'mgmt.yaml'], {}],
    ['found', 'a token in the file of $KUBECONFIG, for the runs too', [], { KUBECONFIG: 'mgmt.yaml' }],
    ['token-file', 'a token file', ['--kubeconfig', 'file.yaml'], {}],
  ] as const)
    it(what, async () => {
      const [config, tokenFile] = [join(shipped.folder, 'mgmt.yaml'), join(shipped.folder, 'token')]
      const write = () => {
        writeFileSync(config, server.kubeconfig())
        writeFileSync(tokenFile, server.token)
      }
      write()
      writeFileSync(join(shipped.folder, 'file.yaml'), asTokenFile(server.kubeconfig(), tokenFile))
      const end = server.onToken(write)
      const first = server.token
      const manager = shipped.start(['manager', ...args, '--health-probe-bind-address', '0'], { env })
      const connection = connect(await loadKubeconfig({ path: config }))
      try {
        await manager.untilSaid('Started controllers')
        await waitUntil('the end of the first token', async () => (await codeOf(server.url, first)) === 401)
        const at = { name, namespace: 'default' }
        await connection.objects.create(WorkspaceTemplate, aTemplate('resource "terraform_data" "x" {}', {}, at))
        await connection.objects.create(WorkspaceTemplateApply, anApply({ templateRef: { name } }, at))
        let last: WorkspaceTemplateApply | undefined
        await waitUntil(
          'the apply',
          async () => {
            last = await connection.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, at)
            return conditionOf(last!, 'Ready')?.status === 'True'
          },
          120_000,
          () => `${JSON.stringify(last?.status)}\n${manager.err().slice(-3000)}`,
        )
        assert.equal(await manager.stop(), 0, manager.err())
      } finally {
        end()
        await connection.close()
      }
    })
})
