// A home for engine tests: the embedded API on loopback, a work folder, real Terraform, runners as real processes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NamespaceKind, toCustomResourceDefinition, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { type ApiServer, startApiServer } from '#apiserver'
import { createLocalEngine, type Engine, findTerraform, type LocalEngineOptions } from '#engine'
import { type Connection, connect, loadKubeconfig } from '#kube'
import { silentLog, systemClock } from '#lib'

export const hasTerraform = await findTerraform().then(
  () => true,
  () => false,
)

export interface EngineWorld {
  readonly folder: string
  readonly server: ApiServer
  readonly connection: Connection
  readonly kubeconfig: string
  readonly workDir: string
  readonly requests: { method: string; path: string; code: number }[]
  engine(options?: Partial<LocalEngineOptions>): Promise<Engine>
  close(): Promise<void>
}

export async function engineWorld(): Promise<EngineWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'capt-engine-'))
  const requests: EngineWorld['requests'] = []
  const server = await startApiServer({
    dataDir: join(folder, 'home'),
    crds: [WorkspaceTemplate, WorkspaceTemplateApply].map(toCustomResourceDefinition),
    onRequest: (request) => requests.push(request),
  })
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, server.kubeconfig(), { mode: 0o600 })
  const connection = connect(await loadKubeconfig({ path: kubeconfig }))
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }
  await connection.objects.create(NamespaceKind, namespace).catch(() => undefined)
  const engines: Engine[] = []
  const workDir = join(folder, 'runs')
  return {
    folder,
    server,
    connection,
    kubeconfig,
    workDir,
    requests,
    async engine(options = {}) {
      const engine = await createLocalEngine({
        objects: connection.objects,
        workDir,
        clock: systemClock,
        log: silentLog,
        kubeconfigForRunner: kubeconfig,
        runner: [process.execPath, join(import.meta.dirname, 'engine-runner.ts')],
        graceSeconds: 5,
        ...options,
      })
      engines.push(engine)
      return engine
    },
    async close() {
      for (const engine of engines) await engine.stop()
      await connection.close()
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
