// The drill: a management cluster with a cluster, a finished run and one in progress is lost with its etcd, and restored from
// a snapshot by the commands of docs/backup.md: first with runs beside the manager, then with runs in Jobs. Every workspace is planned once, nothing is made twice, and a plan that is
// not empty waits for a person.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { clusterKind, JobKind, LeaseKind, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { type RunRecord, readRecord } from '#engine'
import { anApply, aTemplate } from '#testing'
import type { ClusterActor } from '../../support/engine/cluster-actor.ts'
import { type Api, conditionOf, isTrue, openApi } from '../support/api.ts'
import { startKubelet } from '../support/kubelet.ts'
import { type Kube, startCapi, startKube, TIMEOUT_SECONDS, tail, until, VERSIONS } from '../support/lab.ts'
import type { Loose } from '../support/loose.ts'
import { prove } from '../support/proofs.ts'
import {
  HOME_NAMESPACE,
  installCrds,
  type ManagerProcess,
  programIn,
  startManagerProcess,
  workloadSecret,
} from '../support/world.ts'

const CORE = VERSIONS.capi[0]
const EXAMPLE = readFileSync(join(import.meta.dirname, '../../../examples/simulation.yaml'), 'utf8').replace(
  /^ {4}(fluxcd\.io\/enabled|installation\.appthrust\.com\/eks-karpenter): .*\n/gm,
  '',
)
const FLAGS = {
  local: ['--engine=local'],
  job: ['--engine=job', '--runner-image=capt-runner', `--run-namespace=${HOME_NAMESPACE}`],
} as const
type EngineName = keyof typeof FLAGS
const key = (name: string) => ({ namespace: 'default', name })

describe('a management cluster that is lost and restored from an etcd snapshot', () => {
  const folder = mkdtempSync(join(tmpdir(), 'capt-real-drill-'))
  const path = (name: string) => join(folder, name)
  const undo: (() => Promise<unknown> | unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  let kube: Kube
  let api: Api
  let manager: ManagerProcess
  let kubelet: ClusterActor | undefined

  before(async () => {
    kube = await startKube({ name: 'drill' })
    undo.push(() => kube.stop())
    // Core runs on, as its pod would come back: the restored API server converts Clusters by its webhook.
    const capi = await startCapi(kube, CORE)
    undo.push(() => capi.stop())
    installCrds(kube)
    api = openApi(kube)
    undo.push(() => api.close())
    kube.kubectl(['create', 'serviceaccount', 'capt-run', '-n', HOME_NAMESPACE])
  })
  after(async () => {
    for (const step of undo.splice(0).reverse()) await step()
  })

  const startManager = async (engine: EngineName, ...args: readonly string[]) => {
    const env = { POD_NAMESPACE: HOME_NAMESPACE }
    if (engine === 'job') kubelet = await startKubelet(kube, HOME_NAMESPACE, folder)
    const flags = ['--leader-elect', ...FLAGS[engine], ...args]
    manager = await startManagerProcess(kube.kubeconfigOf('capt'), folder, flags, env)
  }
  /** One line in the ledger for each time that Terraform makes it. */
  async function apply(name: string, command: string): Promise<void> {
    const words = JSON.stringify(`${command}; echo ${name} >> ${path('ledger')}`)
    const module = `resource "terraform_data" "x" {\n  provisioner "local-exec" { command = ${words} }\n}`
    await api.client.create(WorkspaceTemplate, aTemplate(module, {}, key(name)))
    await api.client.create(WorkspaceTemplateApply, anApply({ templateRef: { name } }, key(name)))
  }
  const ledger = (engine: EngineName) =>
    readFileSync(path('ledger'), 'utf8')
      .split('\n')
      .filter((line) => line.endsWith(engine))
      .sort()
  const recordOf = async (name: string) => (await readRecord(api.client, key(name)))!.record
  const appliedAfter = (found: Loose, time: string): boolean =>
    found['status']?.phase === 'Applied' && (found['status'].lastAppliedTime ?? '') > time
  async function untilApplied(name: string, since = ''): Promise<Loose> {
    const isApplied = async () => appliedAfter(await api.get(WorkspaceTemplateApply, name), since)
    await until(`${name} is applied`, isApplied, TIMEOUT_SECONDS, manager)
    return await api.get(WorkspaceTemplateApply, name)
  }
  const isAvailable = async () => isTrue(await api.find(clusterKind('v1beta2'), 'demo'), 'Available')
  const run = (...args: readonly string[]) => {
    const words = [programIn(folder), ...args, '--kubeconfig', kube.kubeconfig]
    return spawnSync(process.execPath, words, { encoding: 'utf8', timeout: 240_000 })
  }
  const settle = () => run('restore', 'settle', '--yes')
  const isHeld = (lease: Loose): boolean => Boolean(lease['spec']?.holderIdentity)
  const capt = (...args: readonly string[]): string => {
    const { status, stdout, stderr } = run(...args)
    assert.equal(status, 0, `${stdout}${stderr}${tail(manager.log)}`)
    return stdout
  }

  for (const engine of ['local', 'job'] as const)
    describe(`with the engine ${engine}`, () => {
      const [settled, unfinished, later] = [`settled-${engine}`, `unfinished-${engine}`, `later-${engine}`]
      const finished = ['demo-eks-controlplane-apply', 'demo-vpc', settled]
      let lost: RunRecord
      let restoredAt: string
      after(async () => {
        await manager?.stop()
        await kubelet?.stop()
      })

      it('is backed up while a run is in progress, works on, and is lost', async () => {
        await startManager(engine)
        kube.kubectl(['apply', '-f', '-'], JSON.stringify(workloadSecret(key('demo'), kube)))
        kube.kubectl(['apply', '-f', '-'], EXAMPLE)
        await apply(settled, 'true')
        const gate = path(`gate-${engine}`)
        await apply(unfinished, `touch ${gate}.reached; while [ ! -e ${gate} ]; do sleep 0.1; done`)
        for (const name of finished) await untilApplied(name)
        await until('the cluster is Available', isAvailable, 480, manager)
        await until('the run in progress', () => existsSync(`${gate}.reached`), TIMEOUT_SECONDS, manager)
        kube.saveSnapshot(path('capt.snapshot'))

        // After the snapshot: the run ends, and another workspace comes, which no backup knows of.
        writeFileSync(gate, '')
        await untilApplied(unfinished)
        await apply(later, 'true')
        await untilApplied(later)
        assert.deepEqual(ledger(engine), [later, settled, unfinished])
        lost = await recordOf(unfinished)
        process.kill(manager.pid, 'SIGKILL')
        await manager.stop()
        await kubelet?.stop()
        for (const name of readdirSync(folder)) if (name.startsWith('runs-')) rmSync(path(name), { recursive: true })
      })

      it('has every object of the snapshot again, and nothing of it is live', async () => {
        await kube.restoreSnapshot(path('capt.snapshot'))
        const { run } = await recordOf(unfinished)
        assert.equal(run?.id, lost.run?.id, 'the run of the snapshot, as it was in progress')
        assert.equal(run?.finishedAt, undefined)
        assert.equal(await api.find(WorkspaceTemplateApply, later), undefined)
        const hasJob = async () =>
          (await api.list(JobKind, { namespace: HOME_NAMESPACE })).some(({ metadata }) =>
            metadata.name.includes(unfinished),
          )
        assert.equal(await hasJob(), engine === 'job', 'the Job of the lost run came back')
        const locks = async () => (await api.list(LeaseKind, { namespace: 'default' })).filter(isHeld)
        assert.equal((await locks()).length, 1, 'the lock of the lost run came back')
        await until('the lease of the lost manager is old', () => settle().status === 0, TIMEOUT_SECONDS)
        assert.equal((await locks()).length, 0)
        await until('its Job is gone', async () => !(await hasJob()), TIMEOUT_SECONDS)
        const settled = await recordOf(unfinished)
        assert.deepEqual([settled.run?.id, settled.run?.phase], [lost.run?.id, 'Lost'])
      })

      it('plans every workspace once, and holds the plan that is not empty', async () => {
        restoredAt = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
        await startManager(engine, `--restored-at=${restoredAt}`)
        for (const name of finished) {
          const { add, change, destroy, replace } = (await untilApplied(name, restoredAt))['status'].plan
          assert.deepEqual({ add, change, destroy, replace }, { add: 0, change: 0, destroy: 0, replace: 0 }, name)
        }
        const reasonOf = async () =>
          conditionOf(await api.find(WorkspaceTemplateApply, unfinished), 'Ready')?.['reason']
        await until('its plan waits', async () => (await reasonOf()) === 'ApprovalRequired', TIMEOUT_SECONDS, manager)
        assert.equal((await api.get(WorkspaceTemplateApply, unfinished))['status'].plan.add, 1)
        const { run, history } = await recordOf(unfinished)
        assert.notEqual(run?.id, lost.run?.id)
        assert.ok(
          history.some(({ id, phase }) => id === lost.run?.id && phase === 'Lost'),
          JSON.stringify(history),
        )
        await until('the cluster is Available', isAvailable, 480, manager)
        assert.deepEqual(ledger(engine), [later, settled, unfinished], 'nothing was made twice')
      })

      it('goes on once the plan is approved, and destroys through the restored state', async () => {
        const { hash } = (await api.get(WorkspaceTemplateApply, unfinished))['status'].plan
        capt('approve', unfinished, '--plan', hash)
        await untilApplied(unfinished, restoredAt)
        assert.deepEqual(ledger(engine), [later, settled, unfinished, unfinished])
        await api.remove(WorkspaceTemplateApply, settled)
        const isGone = async () => !(await api.find(WorkspaceTemplateApply, settled))
        await until(`${settled} is destroyed`, isGone, TIMEOUT_SECONDS, manager)
        prove(
          'etcd',
          VERSIONS.etcd,
          `A lost management cluster is restored, engine ${engine}: every workspace planned, nothing made twice`,
        )
      })
    })
})
