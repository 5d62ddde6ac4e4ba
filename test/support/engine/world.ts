// A home for engine tests: the embedded API on loopback, a work folder, real Terraform, runners as real processes, and the
// two controllers around them.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AnyObject,
  CustomResourceDefinitionKind,
  conditionOf,
  type KindRef,
  NamespaceKind,
  toCustomResourceDefinition,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { startApiServer } from '#apiserver'
import { applyOfChecks, createLocalEngine, type Engine, findTerraform, type LocalEngineOptions } from '#engine'
import { type Connection, connect, createEvents, loadKubeconfig } from '#kube'
import { silentLog, systemClock } from '#lib'
import { type AnyController, runControllers } from '#runtime'
import { anApply, aTemplate } from '#testing'
import { workspaceApplyController } from '../../../src/controllers/workspace-apply/index.ts'
import { workspaceTemplateController } from '../../../src/controllers/workspace-template/index.ts'
import { reportMissing } from '../tools.ts'

export const hasTerraform = await findTerraform().then(
  () => true,
  () => false,
)
if (!hasTerraform) reportMissing('terraform')

export interface Manager {
  readonly engine: Engine
  stop(): Promise<void>
}

export interface EngineWorld {
  readonly folder: string
  readonly connection: Connection
  readonly kubeconfig: string
  readonly workDir: string
  readonly requests: { method: string; path: string; code: number }[]
  engine(options?: Partial<LocalEngineOptions>): Promise<Engine>
  /** Engine and controllers, as one process has them. */
  manager(options?: Partial<LocalEngineOptions>): Promise<Manager>
  /** The same with an engine that works over the manager's own connection. */
  managerWith(open: (own: Connection) => Engine | Promise<Engine>): Promise<Manager>
  create<T extends AnyObject>(kind: KindRef, object: T): Promise<T>
  /** A template and an apply of it, under one name. */
  make(name: string, module: string, forProvider?: object, spec?: object, namespace?: string): Promise<void>
  /** Resolves with the apply when the test is true of it; fails with its conditions when that takes too long. */
  until(
    name: string,
    test: (apply: WorkspaceTemplateApply) => boolean,
    seconds?: number,
  ): Promise<WorkspaceTemplateApply>
  untilGone(name: string, seconds?: number): Promise<void>
  /** The API server goes away and comes back on the same port. */
  restartServer(awayMs: number): Promise<void>
  close(): Promise<void>
}

const RUNNER = [process.execPath, join(import.meta.dirname, 'runner.ts')]

/** Where the tests find their API server: the embedded one, unless a real one is offered. */
async function openServer(folder: string, requests: EngineWorld['requests']) {
  const crds = [WorkspaceTemplate, WorkspaceTemplateApply].map((kind) => toCustomResourceDefinition(kind))
  const real = process.env['CAPT_REAL_KUBECONFIG']
  if (real !== undefined) {
    const { objects, close } = connect(await loadKubeconfig({ path: real }))
    for (const crd of crds) await objects.apply(CustomResourceDefinitionKind, crd as unknown as AnyObject)
    await untilServed(objects)
    return { kubeconfig: real, restart: () => assert.fail('a real server is not restarted'), close }
  }
  const start = (port: number) =>
    startApiServer({ dataDir: join(folder, 'home'), port, crds, onRequest: (request) => requests.push(request) })
  let server = await start(0)
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, server.kubeconfig(), { mode: 0o600 })
  return {
    kubeconfig,
    async restart(awayMs: number) {
      const port = Number(new URL(server.url).port)
      await server.close()
      await new Promise((resolve) => setTimeout(resolve, awayMs))
      server = await start(port)
    },
    close: () => server.close(),
  }
}

async function untilServed(objects: Connection['objects']): Promise<void> {
  for (let i = 0; i < 100; i++) {
    try {
      await objects.get(WorkspaceTemplateApply, { namespace: 'default', name: 'nobody' })
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

export async function engineWorld(): Promise<EngineWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'capt-engine-'))
  const requests: EngineWorld['requests'] = []
  const server = await openServer(folder, requests)
  const { kubeconfig } = server
  const access = await loadKubeconfig({ path: kubeconfig })
  const connection = connect(access)
  const { objects } = connection
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }
  await objects.create(NamespaceKind, namespace).catch(() => undefined)
  const workDir = join(folder, 'runs')
  const undo: (() => Promise<unknown>)[] = []
  const find = (name: string) =>
    objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace: 'default', name })

  const engine = async (options: Partial<LocalEngineOptions> = {}) => {
    const made = await createLocalEngine({
      objects,
      workDir,
      clock: systemClock,
      log: silentLog,
      kubeconfigForRunner: kubeconfig,
      runner: RUNNER,
      graceSeconds: 5,
      ...options,
    })
    undo.push(() => made.stop())
    return made
  }
  const until: EngineWorld['until'] = async (name, test, seconds = 180) => {
    const deadline = Date.now() + seconds * 1000
    for (;;) {
      const apply = await find(name)
      if (apply && test(apply)) return apply
      if (Date.now() > deadline) assert.fail(`${name} did not get there: ${JSON.stringify(apply?.status, null, 1)}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const managerWith: EngineWorld['managerWith'] = async (open) => {
    const own = connect(access)
    const made = await open(own)
    const controllers = [
      workspaceApplyController({ engine: made, backoff: () => 1, sourceSeconds: 2 }),
      workspaceTemplateController(),
    ] as unknown as AnyController[]
    const events = createEvents(own.objects, { controller: 'capt.appthrust.com/test', instance: 'test' })
    const running = runControllers({
      controllers,
      objects: own.objects,
      informers: own.informers,
      events,
      clock: systemClock,
      log: silentLog,
    })
    made.onChange((key) => running.wake('workspacetemplateapply', applyOfChecks(key)))
    await running.synced()
    let stopped = false
    const manager: Manager = {
      engine: made,
      async stop() {
        if (stopped) return
        stopped = true
        await running.stop()
        await made.stop()
        await events.flush()
        await own.close()
      },
    }
    undo.push(() => manager.stop())
    return manager
  }
  return {
    folder,
    connection,
    kubeconfig,
    workDir,
    requests,
    engine,
    managerWith,
    manager: (options) => managerWith((own) => engine({ objects: own.objects, ...options })),
    create: (kind, object) => objects.create(kind, object as never) as never,
    async make(name, module, forProvider = {}, spec = {}, namespace = 'default') {
      await objects.create(WorkspaceTemplate, aTemplate(module, forProvider, { name, namespace }))
      await objects.create(WorkspaceTemplateApply, anApply({ templateRef: { name }, ...spec }, { name, namespace }))
    },
    until,
    async untilGone(name, seconds = 180) {
      const deadline = Date.now() + seconds * 1000
      while (await find(name)) {
        if (Date.now() > deadline) {
          const status = (await find(name))?.status
          assert.fail(`${name} is still there: ${JSON.stringify(status, null, 1)}`)
        }
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    restartServer: (awayMs) => server.restart(awayMs),
    async close() {
      for (const step of undo.reverse()) await step()
      await connection.close()
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export const isReady = (apply: WorkspaceTemplateApply): boolean => {
  const ready = conditionOf(apply, 'Ready')
  return ready?.status === 'True' && ready.observedGeneration === apply.metadata.generation
}
export const isStalled = (apply: WorkspaceTemplateApply): boolean => conditionOf(apply, 'Stalled')?.status === 'True'
