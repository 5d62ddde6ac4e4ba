// An embedded home of the shipped program that is stopped or killed at any moment and started again with the same command
// line, with a simulated cluster and a workspace whose resources write down when they are made and destroyed.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CAPTControlPlane, clusterKind, type Secret, SecretKind, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { type RunRecord, readRecord } from '#engine'
import { connect, isKubeError, loadKubeconfig, type Objects } from '#kube'
import { anApply, aTemplate } from '#testing'
import { kubectlPath, type Shipped, type UpHome, waitUntil } from '../shipped/support.ts'

const RESOURCES = 4
const WITNESS = { namespace: 'default', name: 'witness' }
const CLUSTER = { namespace: 'default', name: 'demo' }
const LIMIT_MS = 300_000

export interface RestartedHome {
  home(): UpHome
  /** Ends `capt up` by the signal and starts it again. */
  restart(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  create(): Promise<void>
  upgrade(version: string): Promise<void>
  remove(): Promise<void>
  recordOf(name: string): Promise<RunRecord | undefined>
  /** What `capt describe cluster demo` prints. */
  describe(): Promise<string>
  untilReady(version?: string): Promise<void>
  untilGone(): Promise<void>
  /** The kubeconfig Secret of the cluster opens its API. */
  assertKubeconfigWorks(): Promise<void>
  /** Everything was made exactly once, and destroyed exactly once when it is gone. */
  assertOnce(isGone: boolean): void
}

export async function restartedHome(shipped: Shipped, name: string): Promise<RestartedHome> {
  const ledger = join(shipped.folder, `${name}.ledger`)
  writeFileSync(ledger, '')
  let home = await shipped.up(name)
  const manifest = join(shipped.folder, 'program', 'dist', 'program', 'simulation.yaml')

  /** A home may be away at this very moment: what is asked then is asked again. */
  async function ask<T>(work: (objects: Objects) => Promise<T>): Promise<T> {
    const deadline = Date.now() + LIMIT_MS
    for (;;) {
      const connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
      try {
        return await work(connection.objects)
      } catch (error) {
        if (!isKubeError(error, 'Unreachable', 'BadAnswer', 'ServerError') || Date.now() > deadline) throw error
        await new Promise((resolve) => setTimeout(resolve, 200))
      } finally {
        await connection.close()
      }
    }
  }
  const capt = async (...args: string[]) =>
    await shipped.capt([...args, '--kubeconfig', home.kubeconfig], { timeoutMs: 120_000 })
  /** Commands may meet a home that is away; they are repeated as a user would. */
  const captUntil = (...args: string[]) =>
    waitUntil(`capt ${args.join(' ')}`, async () => (await capt(...args)).code === 0, LIMIT_MS)
  const why = () => home.err().slice(-3000)
  const isThere = (objects: Objects, kind: typeof WorkspaceTemplateApply) => objects.get(kind, WITNESS)

  return {
    home: () => home,
    async restart(signal) {
      await home.stop(signal)
      home = await shipped.up(name)
    },
    async create() {
      await captUntil('apply', '-f', manifest)
      await ask(async (objects) => {
        const exists = (error: unknown) => assert.ok(isKubeError(error, 'AlreadyExists'), String(error))
        const { name: template } = WITNESS
        await objects.create(WorkspaceTemplate, aTemplate(module(ledger), {}, { name: template })).catch(exists)
        const apply = anApply({ templateRef: { name: template } }, { name: template })
        await objects.create(WorkspaceTemplateApply, apply).catch(exists)
      })
    },
    upgrade: (version) =>
      ask(async (objects) => {
        await objects.patch(CAPTControlPlane, CLUSTER, { type: 'merge', body: { spec: { version } } })
      }),
    async remove() {
      await captUntil('delete', 'cluster', 'demo', '--yes', '--wait=false')
      await ask(async (objects) => {
        await objects.delete(WorkspaceTemplateApply, WITNESS)
      })
    },
    recordOf: (workspace) =>
      ask(async (objects) => (await readRecord(objects, { namespace: 'default', name: workspace }))?.record),
    describe: async () => (await capt('describe', 'cluster', 'demo')).out,
    async untilReady(version) {
      const isReady = async () => {
        const found = await ask((objects) => objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, WITNESS))
        const isApplied = found?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
        if (!isApplied) return false
        const plane = await ask((objects) => objects.get<CAPTControlPlane>(CAPTControlPlane, CLUSTER))
        if (version !== undefined && plane?.status?.version !== version) return false
        return /^Cluster\/demo +ready/m.test((await capt('describe', 'cluster', 'demo')).out)
      }
      await waitUntil('the cluster to be ready', isReady, LIMIT_MS, why)
    },
    async untilGone() {
      const isGone = async () => {
        if (await ask((objects) => isThere(objects, WorkspaceTemplateApply))) return false
        // The Cluster itself goes last: after the control plane, the network and everything kept for their runs.
        return !(await ask((objects) => objects.get(clusterKind('v1beta2'), CLUSTER)))
      }
      await waitUntil('the cluster to be gone', isGone, LIMIT_MS, why)
      await waitUntil('every runner to end', () => shipped.runners().length === 0, LIMIT_MS)
    },
    async assertKubeconfigWorks() {
      if (!kubectlPath) return
      const secret = await ask((objects) =>
        objects.get<Secret>(SecretKind, { namespace: 'default', name: 'demo-kubeconfig' }),
      )
      const file = join(shipped.folder, `${name}.workload`)
      writeFileSync(file, Buffer.from(secret!.data!['value']!, 'base64'), { mode: 0o600 })
      const { code, err } = await shipped.kubectl(file, ['get', 'namespaces'])
      assert.equal(code, 0, err)
    },
    assertOnce(isGone) {
      const lines = readFileSync(ledger, 'utf8').split('\n').filter(Boolean).sort()
      const expected = Array.from({ length: RESOURCES }, (_, i) => [`made ${i}`, ...(isGone ? [`gone ${i}`] : [])])
      assert.deepEqual(lines, expected.flat().sort())
    },
  }
}

function module(ledger: string): string {
  return `
resource "terraform_data" "x" {
  count = ${RESOURCES}
  input = { ledger = ${JSON.stringify(ledger)}, index = count.index }
  provisioner "local-exec" {
    command = "sleep $((\${count.index} + 1)); echo made \${count.index} >> \${self.input.ledger}"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "sleep 1; echo gone \${self.input.index} >> \${self.input.ledger}"
  }
}`
}
