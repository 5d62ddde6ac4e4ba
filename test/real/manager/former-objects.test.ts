// Objects, records and states that commit ededa56 wrote, on a kube-apiserver with the CRDs of that commit: then come the CRDs
// and the manager of today. No object changes, nothing is run, the plan is empty, and a deletion destroys through the old state.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import {
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  type KindRef,
  keyOf,
  SecretKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { startApiServer } from '#apiserver'
import { clusterDefinition, resourceSetDefinitions } from '#core'
import { type RunRecord, readRecord, WORKSPACE_LABEL } from '#engine'
import { type Connection, connect, readKubeconfigText, serverOf } from '#kube'
import { copyAll } from '#move'
import { accessOf } from '../support/api.ts'
import { type Kube, startKube, TIMEOUT_SECONDS, tail, until, VERSIONS } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'
import { installCrds, type ManagerProcess, programIn, startManagerProcess } from '../support/world.ts'

const FIXTURE = join(import.meta.dirname, '..', '..', 'support', 'fixtures', 'home-ededa56')
/** Owners first. What needs a workload cluster is left out: there is none here. */
const KINDS: readonly KindRef[] = [WorkspaceTemplate, CAPTCluster, CAPTControlPlane, WorkspaceTemplateApply, SecretKind]
const APPLIES = ['demo-eks-controlplane-apply', 'demo-vpc'] as const
const apply = (name: string) => ({ namespace: 'default', name })

describe('objects of an earlier version', () => {
  const folder = mkdtempSync(join(tmpdir(), 'capt-real-former-'))
  const undo: (() => Promise<unknown> | unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  let kube: Kube
  let there: Connection
  let manager: ManagerProcess
  let copied: readonly { readonly kind: KindRef; readonly object: AnyObject }[]
  let records: ReadonlyMap<string, RunRecord>

  before(async () => {
    kube = await startKube({ name: 'former' })
    undo.push(() => kube.stop())
    there = connect(accessOf(kube))
    undo.push(() => there.close())
    const former = JSON.parse(gunzipSync(readFileSync(join(FIXTURE, 'crds.json.gz'))).toString('utf8')) as object[]
    const core = [clusterDefinition(), ...resourceSetDefinitions()]
    const crds = [...former, ...core].map((crd) => JSON.stringify(crd)).join('\n---\n')
    kube.kubectl(['apply', '--server-side', '-f', '-'], crds)
    kube.kubectl(['wait', '--for=condition=Established', '--timeout=240s', 'crd', '--all'])
    await copyFixture()
    copied = await readAll()
    records = await readRecords()
  })
  after(async () => {
    for (const step of undo.splice(0).reverse()) await step()
  })

  /** From the home that the commit left behind. */
  async function copyFixture(): Promise<void> {
    execFileSync('tar', ['-xzf', join(FIXTURE, 'home.tar.gz'), '-C', folder])
    const home = await startApiServer({ dataDir: join(folder, 'home') })
    const here = connect(await readKubeconfigText(home.kubeconfig(), { origin: 'the former home' }))
    try {
      await home.ready()
      const nodes = []
      for (const kind of KINDS)
        for await (const object of here.objects.list<AnyObject>(kind, { namespace: 'default' }))
          nodes.push({ kind, object })
      await copyAll(nodes, {
        ...serverOf(there.client),
        objects: there.objects,
        namespace: 'default',
        close: async () => {},
      })
    } finally {
      await here.close()
      await home.close()
    }
  }
  async function readAll() {
    const found = []
    for (const kind of KINDS)
      for await (const object of there.objects.list<AnyObject>(kind, { namespace: 'default' }))
        found.push({ kind, object })
    return found
  }
  async function readRecords(): Promise<ReadonlyMap<string, RunRecord>> {
    const found = new Map<string, RunRecord>()
    for (const name of APPLIES) found.set(name, (await readRecord(there.objects, apply(name)))!.record)
    return found
  }
  const content = ({ object }: { readonly object: AnyObject }) => ({ ...object, metadata: object.metadata.name })
  const capt = (...args: readonly string[]): string => {
    const words = [programIn(kube.folder), ...args, '--kubeconfig', kube.kubeconfig]
    const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', timeout: 240_000 })
    assert.equal(status, 0, `${stdout}${stderr}${tail(manager.log)}`)
    return stdout
  }

  it('lose nothing under the CRDs of today, and may be written', async () => {
    assert.ok(copied.length >= 12, `${copied.length} objects`)
    installCrds(kube)
    const now = await readAll()
    for (const [i, { kind, object }] of copied.entries())
      assert.partialDeepStrictEqual(content(now[i]!), content({ object }), `${kind.kind} ${object.metadata.name}`)
    for (const { kind, object } of copied)
      await there.objects.patch(kind, keyOf(object), {
        type: 'merge',
        body: { metadata: { annotations: { seen: '' } } },
      })
  })

  it('are taken over by the manager with nothing run, and the plan is empty', async () => {
    manager = await startManagerProcess(kube.kubeconfigOf('capt'), kube.folder)
    undo.push(() => manager.stop())
    for (const name of APPLIES) {
      const [plan] = JSON.parse(capt('plan', name, '-o', 'json')) as { plan: { changes: unknown[] } }[]
      assert.deepEqual(plan?.plan.changes, [], name)
    }
    for (const [name, { run, state, applied, history }] of await readRecords()) {
      const was = records.get(name)!
      assert.deepEqual([run?.id, state, applied, history.length], [was.run?.id, was.state, was.applied, 1], name)
    }
    prove(
      'kube-apiserver',
      VERSIONS.kube,
      'Objects, records and states of an earlier version are taken over with nothing run',
    )
  })

  it('take the manifests of that version again: nothing changes, and nothing is run', async () => {
    const generations = async () =>
      (await readAll()).map(({ kind, object: { metadata } }) => [kind.kind, metadata.name, metadata.generation])
    // The plan of the test before was speculative: its apply goes by itself.
    const isAlone = async () => (await readAll()).every(({ object }) => !object.metadata.name.includes('-plan-'))
    await until('the speculative apply is gone', isAlone, TIMEOUT_SECONDS, manager)
    const before = await generations()
    const manifests = readFileSync(join(folder, 'simulation.yaml'), 'utf8').split(/^---\n/m)
    const ours = manifests.filter((text) => KINDS.some(({ kind }) => text.includes(`\nkind: ${kind}\n`)))
    assert.equal(ours.length, 4)
    kube.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], ours.join('---\n'))
    assert.deepEqual(await generations(), before)
    capt('plan', 'demo-vpc', '-o', 'json')
    for (const [name, { run, history }] of await readRecords())
      assert.deepEqual([run?.id, history.length], [records.get(name)!.run?.id, 1], name)
  })

  it('are deleted through the state of then, and nothing that was kept for them is left', async () => {
    for (const name of APPLIES) {
      await there.objects.delete(WorkspaceTemplateApply, apply(name))
      const isGone = async () => !(await there.objects.get(WorkspaceTemplateApply, apply(name)))
      await until(`${name} is gone`, isGone, TIMEOUT_SECONDS, manager)
    }
    // Connection Secrets are taken away by the garbage collector.
    const isEmpty = async () => {
      for await (const _ of there.objects.list<AnyObject>(SecretKind, { labelSelector: WORKSPACE_LABEL })) return false
      return true
    }
    await until('every Secret of the workspaces is gone', isEmpty, TIMEOUT_SECONDS, manager)
  })
})
