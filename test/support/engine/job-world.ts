// The engine world of test/support with runs in Jobs: the embedded API, a stand-in for the cluster's own controllers, and the
// built program as what the image of the runs holds.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { JobKind, PodKind, toKey } from '#api'
import { APPLY_ANNOTATION, type Engine, findTerraform, JobEngine, type JobEngineOptions } from '#engine'
import { type Connection, connect, loadKubeconfig, type ServerAccess } from '#kube'
import { silentLog, systemClock } from '#lib'
import { type ClusterActor, startClusterActor } from './cluster-actor.ts'
import { type EngineWorld, engineWorld, type Manager } from './world.ts'

export const PROGRAM = join(import.meta.dirname, '../../../dist/program/capt.mjs')
export const hasProgram = existsSync(PROGRAM)

export interface JobWorld extends EngineWorld {
  readonly actor: ClusterActor
  jobEngine(options?: Partial<JobEngineOptions>): Promise<Engine>
  /** Controllers with an engine of that kind. */
  jobManager(options?: Partial<JobEngineOptions>): Promise<Manager>
}

/** The engine of a manager. The caller starts its informers. */
export function openJobEngine(
  access: ServerAccess,
  { objects, informers }: Connection,
  options: Partial<JobEngineOptions> = {},
): JobEngine {
  const selection = { namespace: 'default', labelSelector: 'capt.appthrust.com/run', metadataOnly: true }
  return new JobEngine({
    objects,
    clock: systemClock,
    log: silentLog,
    runNamespace: 'default',
    image: 'capt-runner',
    accountOf: () => 'capt-run',
    access: { server: access.server, caData: Buffer.from(access.ca ?? '').toString('base64') },
    graceSeconds: 5,
    onJobChange(handler) {
      for (const kind of [JobKind, PodKind]) {
        informers.register(kind, selection)
        informers.onChange(kind, ({ object }) => {
          const { namespace = '', name } = toKey(object.metadata.annotations?.[APPLY_ANNOTATION] ?? '')
          handler({ namespace, name })
        })
      }
    },
    ...options,
  })
}

export async function jobWorld(): Promise<JobWorld> {
  const world = await engineWorld()
  const access = await loadKubeconfig({ path: world.kubeconfig })
  const cluster = connect(access, { fieldManager: 'cluster' })
  const { binary } = await findTerraform()
  const actor = startClusterActor({
    objects: cluster.objects,
    namespace: 'default',
    program: [process.execPath, PROGRAM],
    path: `${dirname(binary)}:/usr/bin:/bin`,
  })
  const undo: (() => Promise<unknown>)[] = []
  return {
    ...world,
    actor,
    jobManager: (options) => world.managerWith((own) => openJobEngine(access, own, options)),
    async jobEngine(options = {}) {
      const own = connect(access)
      const engine = openJobEngine(access, own, options)
      own.informers.start()
      await own.informers.synced()
      undo.push(async () => {
        await engine.stop()
        await own.close()
      })
      return engine
    },
    async close() {
      for (const step of undo.reverse()) await step()
      await actor.stop()
      await cluster.close()
      await world.close()
    },
  }
}
