// The drill: a home with a simulated cluster and real Terraform is backed up while it works, lost with its folder, and
// restored. Nothing is made twice, and a plan that would change something waits for a person.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  type AnyObject,
  ConfigMapKind,
  clusterKind,
  conditionOf,
  type Lease,
  LeaseKind,
  WorkspaceTemplateApply,
} from '#api'
import { readRecord } from '#engine'
import { connect, loadKubeconfig } from '#kube'
import { planted } from '../../support/secrets/planted.ts'
import { findTool } from '../../support/tools.ts'
import { type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const skip = findTool('terraform') ? false : 'terraform is not installed'
const EXAMPLE = join(import.meta.dirname, '..', '..', '..', 'examples', 'simulation.yaml')
const CANARY = planted('backup')
const API = 'infrastructure.cluster.x-k8s.io/v1beta1'

describe('a home that is lost and restored from a backup', { skip }, () => {
  let shipped: Shipped
  let home: UpHome
  let connection: ReturnType<typeof connect> | undefined
  const path = (name: string) => join(shipped.folder, name)
  before(async () => {
    shipped = shippedProgram()
    home = await start()
  })
  after(async () => {
    await connection?.close()
    await shipped.end()
  })

  async function start(): Promise<UpHome> {
    const up = await shipped.up('home', ['--dashboard', 'off'])
    connection = connect(await loadKubeconfig({ path: up.kubeconfig }))
    return up
  }
  const at = () => ['--kubeconfig', home.kubeconfig]
  const get = (name: string) =>
    connection!.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace: 'default', name })
  const readyOf = (apply: WorkspaceTemplateApply | undefined) =>
    apply?.status?.conditions?.find(({ type }) => type === 'Ready')
  async function until(name: string, what: string, test: (apply: WorkspaceTemplateApply | undefined) => boolean) {
    let last: WorkspaceTemplateApply | undefined
    await waitUntil(
      `${name}: ${what}`,
      async () => {
        last = await get(name)
        return test(last)
      },
      120_000,
      () => JSON.stringify(last?.status),
    )
    return last!
  }
  const untilReason = (name: string, reason: string) =>
    until(name, reason, (apply) => readyOf(apply)?.reason === reason)
  const untilApplied = (name: string, since = '') =>
    until(name, 'Applied', ({ status } = {} as WorkspaceTemplateApply) =>
      Boolean(status?.phase === 'Applied' && (status.lastAppliedTime ?? '') > since),
    )
  const isClusterReady = async () => {
    const cluster = await connection!.objects.get(clusterKind('v1beta2'), { namespace: 'default', name: 'demo' })
    return cluster !== undefined && conditionOf(cluster, 'Available')?.status === 'True'
  }

  /** One line in the ledger for each time that Terraform makes it. */
  async function apply(name: string, size: number, command: string): Promise<void> {
    const module = `variable "size" { type = number }
resource "terraform_data" "x" {
  count = var.size
  provisioner "local-exec" { command = ${JSON.stringify(`${command}; echo ${name} >> ${path('ledger')}`)} }
}`
    const template = { spec: { forProvider: { source: 'Inline', module } } }
    const items = [
      { apiVersion: API, kind: 'WorkspaceTemplate', metadata: { name }, spec: { template } },
      {
        apiVersion: API,
        kind: 'WorkspaceTemplateApply',
        metadata: { name },
        spec: { templateRef: { name }, values: { size } },
      },
    ]
    writeFileSync(path(`${name}.json`), JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    await shipped.captOk(['apply', '-f', path(`${name}.json`), ...at()])
  }
  const ledger = () => readFileSync(path('ledger'), 'utf8').split('\n').filter(Boolean).sort()
  const refused = async (args: readonly string[], code: string) => {
    const ended = await shipped.capt(args)
    assert.equal(ended.code, 1, ended.out)
    assert.match(ended.err, new RegExp(code))
    assert.equal(existsSync(path('home')), false)
  }

  it('is backed up while a run is in progress', async () => {
    await shipped.captOk(['apply', '-f', EXAMPLE, ...at()])
    await apply('settled', 1, 'true')
    const gate = path('gate')
    await apply('unfinished', 1, `touch ${gate}.reached; while [ ! -e ${gate} ]; do sleep 0.1; done`)
    await connection!.objects.create<AnyObject>(ConfigMapKind, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'canary', namespace: 'default' },
      data: { word: CANARY },
    } as AnyObject)
    await untilApplied('settled')
    await waitUntil('the cluster to be ready', isClusterReady)
    await waitUntil('the run in progress', () => existsSync(`${gate}.reached`))

    const said = await shipped.captOk(['backup', '--data', 'home', '-o', 'home.backup'])
    assert.match(said, /^Wrote home\.backup: \d+ bytes of \S+, encrypted with key [0-9a-f]{16}$/m)
    assert.equal(statSync(path('home.backup')).mode & 0o777, 0o600)
    const bytes = readFileSync(path('home.backup'))
    assert.ok(!bytes.includes(CANARY))
    const header = JSON.parse(bytes.toString('utf8', 0, bytes.indexOf(0x0a))) as Record<string, unknown>
    assert.deepEqual(Object.keys(header), ['format', 'version', 'capt', 'madeAt', 'key', 'nonce', 'sha256'])

    // After the backup: the run ends, and more is written.
    writeFileSync(gate, '')
    await untilApplied('unfinished')
    await connection!.objects.delete(ConfigMapKind, { namespace: 'default', name: 'canary' })
    assert.deepEqual(ledger(), ['settled', 'unfinished'])
    writeFileSync(path('kept.key'), readFileSync(join(home.dataDir, 'encryption.key')), { mode: 0o600 })
    await connection?.close()
    await home.stop('SIGKILL')
    await waitUntil('the end of every runner', () => shipped.runners().length === 0)
    rmSync(home.dataDir, { recursive: true })
  })

  it('is not restored from a damaged file, with another key, or over another folder', async () => {
    const to = ['--data', 'home', '--key-file', 'kept.key']
    writeFileSync(path('other.key'), `${Buffer.alloc(32, 9).toString('base64')}\n`, { mode: 0o600 })
    await refused(['restore', 'home.backup', '--data', 'home', '--key-file', 'other.key'], 'CAPT_BACKUP_KEY_WRONG')
    const bytes = readFileSync(path('home.backup'))
    bytes[bytes.length - 40]! ^= 1
    writeFileSync(path('damaged.backup'), bytes)
    await refused(['restore', 'damaged.backup', ...to], 'CAPT_BACKUP_DAMAGED')
    await refused(['restore', 'other.key', ...to], 'CAPT_BACKUP_UNREADABLE')
    await shipped.captOk(['restore', 'home.backup', ...to, '--dry-run'])
    assert.equal(existsSync(path('home')), false)
    await shipped.captOk(['restore', 'home.backup', ...to])
    const again = await shipped.capt(['restore', 'home.backup', ...to])
    assert.match(again.err, /CAPT_RESTORE_TARGET/)
  })

  it('plans everything once, makes nothing twice, and waits for approval where the plan is not empty', async () => {
    const before = home.url
    const since = new Date(Date.now() - 1000).toISOString()
    home = await start()
    assert.equal(home.url, before)
    assert.ok(await connection!.objects.get(ConfigMapKind, { namespace: 'default', name: 'canary' }))
    const waiting = await untilReason('unfinished', 'ApprovalRequired')
    assert.match(readyOf(waiting)!.message, /first one after a restore/)
    assert.equal(waiting.status?.plan?.add, 1)
    const record = (await readRecord(connection!.objects, { namespace: 'default', name: 'unfinished' }))!.record
    assert.ok(record.history.some(({ phase }) => phase === 'Lost'))
    for await (const { metadata } of connection!.objects.list<WorkspaceTemplateApply>(WorkspaceTemplateApply)) {
      if (metadata.name === 'unfinished') continue
      const { status } = await untilApplied(metadata.name, since)
      const { add, change, destroy, replace } = status!.plan!
      assert.deepEqual({ add, change, destroy, replace }, { add: 0, change: 0, destroy: 0, replace: 0 }, metadata.name)
    }
    await waitUntil('the cluster to be ready', isClusterReady)
    for await (const { metadata, spec } of connection!.objects.list<Lease>(LeaseKind))
      assert.ok(!spec?.holderIdentity || metadata.name === 'capt-home', metadata.name)
    assert.deepEqual(ledger(), ['settled', 'unfinished'])
  })

  it('goes on as before once the plan is approved', async () => {
    assert.match(await shipped.captOk(['plan', 'unfinished', ...at()]), /Plan: 1 to add, 0 to change, 0 to destroy\./)
    const { hash } = (await get('unfinished'))!.status!.plan!
    await shipped.captOk(['approve', 'unfinished', '--plan', hash!, ...at()])
    const first = await untilApplied('unfinished')
    assert.deepEqual(ledger(), ['settled', 'unfinished', 'unfinished'])
    const merge = { type: 'merge', body: { spec: { values: { size: 2 } } } } as const
    await connection!.objects.patch(WorkspaceTemplateApply, { namespace: 'default', name: 'unfinished' }, merge)
    await until('unfinished', 'the next run', ({ status } = {} as WorkspaceTemplateApply) =>
      Boolean(status?.phase === 'Applied' && status.appliedHash !== first.status?.appliedHash),
    )
  })
})

describe('a home whose key comes from a command', () => {
  let shipped: Shipped
  before(() => {
    shipped = shippedProgram()
  })
  after(() => shipped.end())

  it('is backed up while it runs and when it is stopped, and restored without its key in any file', async () => {
    const path = (name: string) => join(shipped.folder, name)
    for (const [name, byte] of [
      ['data.key', 5],
      ['backup.key', 6],
    ] as const)
      writeFileSync(path(name), `${Buffer.alloc(32, byte).toString('base64')}\n`, { mode: 0o600 })
    const up = ['--engine', 'simulated', '--dashboard', 'off', '--data-key-command', 'cat data.key']
    const home = await shipped.up('home', up)
    const at = ['--kubeconfig', home.kubeconfig]

    const without = await shipped.capt(['backup', '-o', 'a.backup', ...at])
    assert.equal(without.code, 2, without.err)
    assert.match(without.err, /--key-command/)
    assert.equal(existsSync(path('a.backup')), false)
    await shipped.captOk(['backup', '-o', 'a.backup', ...at, '--key-file', 'backup.key'])
    const env = { ...shipped.env, CAPT_DATA_KEY_COMMAND: 'cat data.key' }
    await shipped.captOk(['backup', '-o', 'b.backup', '--data', 'home'], { env })
    await home.stop()

    const kept = readFileSync(path('a.backup'))
    const again = await shipped.capt(['backup', '-o', 'a.backup', '--data', 'home'], { env })
    assert.equal(again.code, 2, again.err)
    assert.deepEqual(readFileSync(path('a.backup')), kept)
    await shipped.captOk(['backup', '-o', 'a.backup', '--data', 'home', '--key-file', 'backup.key', '--yes'], { env })
    assert.notDeepEqual(readFileSync(path('a.backup')), kept)
    const none = await shipped.capt(['backup', '-o', 'c.backup', '--data', 'nowhere'])
    assert.match(none.err, /CAPT_BACKUP_NO_HOME/)
    assert.equal(existsSync(path('nowhere')), false)

    await shipped.captOk(['restore', 'a.backup', '--data', 'first', '--key-file', 'backup.key'])
    await shipped.captOk(['restore', 'b.backup', '--data', 'second', '--key-command', 'cat data.key'])
    assert.deepEqual(
      ['first', 'second'].filter((name) => existsSync(path(`${name}/encryption.key`))),
      [],
    )
    const closed = await shipped.capt(['up', '--data', 'first'])
    assert.match(closed.err, /CAPT_DATA_KEY_MISSING/)
    const restored = await shipped.up('second', up)
    assert.equal(restored.url, home.url)
    await restored.stop()
  })
})
