// `capt manager` on somebody's machine, against a management cluster that a kubeconfig names: in each way that kubectl
// finds one too, its runs reach the same API server as the manager itself.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { parse, stringify } from 'yaml'
import { ALL_KINDS, conditionOf, toCustomResourceDefinition, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { type ApiServer, startApiServer } from '#apiserver'
import { clusterDefinition, convertCluster, resourceSetDefinitions } from '#core'
import { type Connection, connect, loadKubeconfig } from '#kube'
import { writeSecret } from '#lib'
import { anApply, aTemplate } from '#testing'
import { findTool } from '../support/tools.ts'
import { freePort, type Shipped, shippedProgram, waitUntil } from './support.ts'

const CLOCK = join(import.meta.dirname, '../support/shifted-clock.mjs')
const skip = findTool('terraform') === undefined && 'terraform is not installed'

describe('capt manager', { skip }, () => {
  let folder: string
  let shipped: Shipped
  let server: ApiServer
  let connection: Connection

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'capt-management-'))
    shipped = shippedProgram()
    server = await startApiServer({
      dataDir: join(folder, 'home'),
      crds: [...ALL_KINDS.map(toCustomResourceDefinition), clusterDefinition(), ...resourceSetDefinitions()],
      converters: { 'cluster.x-k8s.io/Cluster': convertCluster } as never,
    })
    const text = server.kubeconfig()
    writeFileSync(join(folder, 'kubeconfig'), text)
    connection = connect(await loadKubeconfig({ path: join(folder, 'kubeconfig') }))
    writeFileSync(join(shipped.folder, 'mgmt.yaml'), text)
    mkdirSync(join(shipped.folder, '.kube'))
    writeFileSync(join(shipped.folder, '.kube/config'), text)
    writeFileSync(join(shipped.folder, 'many.yaml'), withTwoContexts(text))
  })
  after(async () => {
    await connection?.close()
    await shipped?.end()
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const [name, how, args, env] of [
    ['flag', '--kubeconfig', ['--kubeconfig', 'mgmt.yaml'], {}],
    ['variable', 'KUBECONFIG', [], { KUBECONFIG: 'mgmt.yaml' }],
    ['home', 'the file in the home folder', [], {}],
    ['context', '--context beside --kubeconfig', ['--kubeconfig', 'many.yaml', '--context', 'mgmt'], {}],
    ['merged', '--context of several files', ['--context', 'mgmt'], { KUBECONFIG: 'none.yaml:many.yaml' }],
  ] as const)
    it(`applies when the management cluster is named by ${how}`, async () => {
      const work = name === 'flag' ? ['--work-dir', 'runs'] : []
      const manager = shipped.start(['manager', ...args, ...work, '--health-probe-bind-address', '0'], { env })
      const at = { name, namespace: 'default' }
      await connection.objects.create(WorkspaceTemplate, aTemplate('resource "terraform_data" "x" {}', {}, at))
      await connection.objects.create(WorkspaceTemplateApply, anApply({ templateRef: { name } }, at))
      let last: WorkspaceTemplateApply | undefined
      await waitUntil(
        'the apply',
        async () => {
          last = await connection.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, at)
          return conditionOf(last!, 'Ready')?.status === 'True' || manager.child.exitCode !== null
        },
        60_000,
        () => `${JSON.stringify(last?.status?.conditions)}\n${manager.err().slice(-3000)}`,
      )
      assert.equal(conditionOf(last!, 'Ready')?.status, 'True', manager.err())
      assert.equal(await manager.stop(), 0, manager.err())
    })

  it('plans every workspace once after a restore, and an empty plan confirms it', async () => {
    const flags = ['manager', '--kubeconfig', 'mgmt.yaml', '--health-probe-bind-address', '0', '--restored-at']
    const late = await shipped.capt([...flags, '2999-01-01T00:00:00Z'])
    assert.match(late.err, /CAPT_BACKUP_AHEAD/)
    assert.equal((await shipped.capt([...flags, 'yesterday'])).code, 2)
    const at = { name: 'flag', namespace: 'default' }
    const statusOf = async () =>
      (await connection.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, at))!.status!
    const before = await statusOf()
    const manager = shipped.start([...flags, before.lastAppliedTime!])
    let last = before
    const isConfirmed = async () => {
      last = await statusOf()
      return last.phase === 'Applied' && last.lastAppliedTime! > before.lastAppliedTime!
    }
    await waitUntil('another run', isConfirmed, 60_000, () => `${JSON.stringify(last)}\n${manager.err().slice(-3000)}`)
    assert.equal(last.plan?.add, 0)
    assert.notEqual(last.run?.id, before.run?.id)
    assert.equal(await manager.stop(), 0, manager.err())
  })

  it('switches its log to debug and back, fails /healthz when its event loop stood still, renews its certificate, and fails /readyz alone while the API server is away', async () => {
    const port = await freePort()
    const metrics = await freePort()
    const probes = ['--health-probe-bind-address', `127.0.0.1:${port}`]
    const flags = ['--kubeconfig', 'mgmt.yaml', ...probes, '--metrics-bind-address', `127.0.0.1:${metrics}`]
    const days = join(folder, 'days')
    writeSecret(days, '0')
    const manager = shipped.start(['manager', ...flags], {
      env: { NODE_OPTIONS: `--import=${CLOCK}`, SHIFTED_DAYS: days, SHIFTED_TIMERS_MS: '60000' },
    })
    const ask = (path: string) => fetch(`http://127.0.0.1:${port}/${path}`)
    const probe = async (path: string) => (await ask(path)).status
    const status = (path: string) => probe(path).catch(() => 0)
    await waitUntil('it is ready', async () => (await status('readyz')) === 200, 60_000, manager.err)
    const changes = () =>
      [...manager.err().matchAll(/"to":"(\w+)","message":"The log level was changed"/g)].map((one) => one[1])
    for (const count of [1, 2]) {
      manager.child.kill('SIGUSR2')
      await waitUntil('the level is changed', async () => changes().length === count, 10_000, manager.err)
    }
    assert.deepEqual(changes(), ['debug', 'info'])
    // A minute passes between two beats of the loop, which come every second; the one after it makes it well again.
    let jumps = 0
    const isUnwell = async () => {
      writeSecret(days, `${++jumps / 1440}`)
      for (let i = 0; i < 50; i++) {
        const answer = await ask('healthz')
        if (answer.status === 503) return /^fail event-loop: it stood still for \d+ seconds$/m.test(await answer.text())
      }
      return false
    }
    await waitUntil('it is not healthy', isUnwell, 60_000, manager.err)
    // The certificate of the metrics is made for a year, and another one a month before its end.
    const before = await endOfServed(metrics)
    writeSecret(days, '340')
    await waitUntil('the next certificate', async () => (await endOfServed(metrics)) > before, 60_000, manager.err)
    await waitUntil('it is healthy', async () => (await probe('healthz')) === 200, 60_000, manager.err)
    await server.close()
    await waitUntil('it is not ready', async () => (await status('readyz')) === 503, 60_000, manager.err)
    assert.equal(await probe('healthz'), 200)
    assert.equal(await manager.stop(), 0, manager.err())
  })
})

function endOfServed(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(Date.parse(socket.getPeerCertificate().valid_to))
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

interface Config {
  readonly clusters: readonly [{ readonly name: string; readonly cluster: object }]
  readonly users: readonly [{ readonly name: string; readonly user: object }]
  readonly contexts: readonly [{ readonly name: string; readonly context: object }]
}

/** The current context leads nowhere. */
function withTwoContexts(text: string): string {
  const { clusters, users, contexts } = parse(text) as Config
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [...clusters, { name: 'nowhere', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [...users, { name: 'nobody', user: { token: 'none' } }],
    contexts: [
      { name: 'mgmt', context: contexts[0].context },
      { name: 'nowhere', context: { cluster: 'nowhere', user: 'nobody' } },
    ],
    'current-context': 'nowhere',
  })
}
