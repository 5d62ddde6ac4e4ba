// A management cluster with core Cluster API and the built capt manager, and further API servers as workload clusters whose
// controllers are played by the simulation actors, through the real API.
import assert from 'node:assert/strict'
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ALL_KINDS, type ClusterApiVersion, type Key, PodKind, toCustomResourceDefinition } from '#api'
import { type Connection, connect, createEvents } from '#kube'
import { silentLog, systemClock } from '#lib'
import { type Actors, simulatedLedger, startActors } from '#simulation'
import { managerFlags } from '../../support/manager-flags.ts'
import { leaksIn } from '../../support/secrets/planted.ts'
import { type Api, accessOf, kindsOf, openApi } from './api.ts'
import {
  type Capi,
  type CapiVersion,
  type Daemon,
  type Kube,
  type LabUser,
  startCapi,
  startDaemon,
  startKube,
  TIMEOUT_SECONDS,
  tail,
  until,
} from './lab.ts'

const ROOT = join(import.meta.dirname, '../../..')
export const HOME_NAMESPACE = 'capt-system'

export interface ManagerProcess extends Daemon {
  readonly workDir: string
}

export interface ManagerOptions {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Resolve as soon as it runs, before its controllers have started (a candidate for the lease never starts them). */
  readonly early?: boolean
  /** Runs of Terraform live here; its own folder otherwise. */
  readonly workDir?: string
}

/** The program as it was built when the test began: a build meanwhile does not change it under a running manager. */
export function programIn(folder: string): string {
  const copy = join(folder, 'program')
  const built = process.env['CAPT_REAL_PROGRAM'] ?? join(ROOT, 'dist', 'program')
  if (!existsSync(copy)) cpSync(built, copy, { recursive: true })
  return join(copy, 'capt.mjs')
}

export async function startManagerProcess(
  kubeconfig: string,
  folder: string,
  args: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
  options: Omit<ManagerOptions, 'args' | 'env'> = {},
): Promise<ManagerProcess> {
  const workDir = options.workDir ?? mkdtempSync(join(folder, 'runs-'))
  mkdirSync(workDir, { recursive: true })
  const flags = managerFlags()
  const fixed = ['manager', '--kubeconfig', kubeconfig, '--work-dir', workDir, '--health-probe-bind-address', '0']
  const env = { MALLOC_ARENA_MAX: '1', ...environment }
  const name = `capt-${Math.random().toString(36).slice(2, 8)}`
  const daemon = startDaemon(name, folder, process.execPath, [...flags, programIn(folder), ...fixed, ...args], { env })
  const says = (text: string) => readFileSync(daemon.log, 'utf8').includes(text)
  if (!options.early) await until('capt manager works', () => says('Started controllers'), TIMEOUT_SECONDS, daemon)
  return {
    ...daemon,
    workDir,
    async stop() {
      await daemon.stop()
      const ofRuns = globSync('**/*.log', { cwd: workDir }).map((path) => join(workDir, path))
      for (const log of [daemon.log, ...ofRuns].filter((path) => existsSync(path)))
        assert.deepEqual(leaksIn(readFileSync(log, 'utf8')), [], `secrets in ${log}`)
    },
  }
}

export interface World {
  readonly version: CapiVersion
  readonly folder: string
  readonly management: Kube
  readonly workload: Kube
  readonly workloads: readonly Kube[]
  readonly capi: Capi
  readonly manager: ManagerProcess
  /** The management cluster, read and written in this process. */
  readonly api: Api
  readonly kinds: ReturnType<typeof kindsOf>
  /** Lets simulation templates find the workload cluster, and plays its controllers. */
  play(cluster: Key, workload?: Kube): Promise<Playing>
  /** Stops the manager and starts another. */
  restartManager(options?: ManagerOptions): Promise<ManagerProcess>
  stop(): Promise<void>
}

export interface Playing {
  readonly actors: Actors
  /** Closes the connections, after the actors have stopped. */
  close(): Promise<void>
  /** Both, in order. */
  stop(): Promise<void>
}

export interface WorldOptions {
  readonly workloads?: number
  readonly audit?: boolean
  readonly manager?: ManagerOptions | false
  readonly core?: boolean
}

export const contractOf = (version: CapiVersion): ClusterApiVersion =>
  version.startsWith('v1.10.') ? 'v1beta1' : 'v1beta2'

export async function startWorld(version: CapiVersion, options: WorldOptions = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'capt-real-world-'))
  const audit = options.audit ?? false
  const undo: (() => Promise<unknown> | unknown)[] = [
    () => process.env['CAPT_REAL_KEEP'] || rmSync(folder, { recursive: true, force: true }),
  ]
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const count = options.workloads ?? 1
    const names = ['management', ...Array.from({ length: count }, (_, i) => `workload-${i + 1}`)]
    const [management, ...workloads] = await startKubes(names, audit, undo)
    const capi = await startCapi(management, version)
    undo.push(() => capi.stop())
    installCrds(management)
    const api = openApi(management)
    undo.push(() => api.close())
    const start = ({ args, env, ...rest }: ManagerOptions = {}) =>
      startManagerProcess(management.kubeconfigOf('capt'), folder, args, env, rest)
    const none = { name: 'none', pid: -1, log: '', workDir: '', stop: async () => undefined }
    let manager: ManagerProcess = options.manager === false ? none : await start(options.manager)
    undo.push(() => manager.stop())
    return {
      version,
      folder,
      management,
      get workload() {
        return workloads[0]!
      },
      workloads,
      capi,
      get manager() {
        return manager
      },
      api,
      kinds: kindsOf(contractOf(version)),
      async play(cluster, workload = workloads[0]!) {
        management.kubectl(['apply', '-f', '-'], JSON.stringify(workloadSecret(cluster, workload)))
        const playing = await startPlaying(cluster, management, workload)
        undo.push(() => playing.stop())
        return playing
      },
      async restartManager(next = options.manager === false ? {} : options.manager) {
        await manager.stop()
        manager = await start(next)
        return manager
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Side by side: each waits for its parts most of the time. Those that started are stopped when another one does not. */
async function startKubes(
  names: readonly string[],
  audit: boolean,
  undo: (() => Promise<unknown> | unknown)[],
): Promise<[Kube, ...Kube[]]> {
  const started = await Promise.allSettled(names.map((name) => startKube({ name, audit })))
  const kubes = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  for (const kube of kubes) undo.push(() => kube.stop())
  for (const one of started) if (one.status === 'rejected') throw one.reason
  return kubes as [Kube, ...Kube[]]
}

/** What an installation brings: the kinds, and the namespace the manager lives in. */
export function installCrds(kube: Kube): void {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: HOME_NAMESPACE } }
  const crds = ALL_KINDS.map(toCustomResourceDefinition)
  const text = [namespace, ...crds].map((object) => JSON.stringify(object)).join('\n---\n')
  kube.kubectl(['apply', '--server-side', '-f', '-'], text)
  kube.kubectl([
    'wait',
    '--for=condition=Established',
    '--timeout=240s',
    'crd',
    '-l',
    'cluster.x-k8s.io/provider in (infrastructure-capt,control-plane-capt)',
  ])
}

export function workloadSecret({ namespace, name }: Key, workload: Kube): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name: `${name}-simulated-workload`, labels: { 'clusterctl.cluster.x-k8s.io/move': '' } },
    stringData: { endpoint: workload.url, ca: workload.caPem, token: workload.tokenOf('capt') },
  }
}

/** The actors of one workload cluster, with their own name in the audit log. */
export async function startPlaying(cluster: Key, management: Kube, workload: Kube): Promise<Playing> {
  const user: LabUser = 'actors'
  const home = connect(accessOf(management, user))
  const main = connect(accessOf(workload, user))
  const connections = [home, main]
  const actors: Actors = await startActors({
    connection: {
      objects: main.objects,
      events: createEvents(main.objects, { controller: 'capt.appthrust.com/simulation', instance: 'lab' }),
      informers() {
        const connection = connect(accessOf(workload, user))
        connections.push(connection)
        return connection.informers
      },
    },
    ledger: simulatedLedger(home.objects, cluster),
    clock: systemClock,
    log: silentLog,
  })
  const close = async (): Promise<void> => {
    for (const connection of connections.splice(0)) await connection.close()
  }
  connections.push(playKubelet(workload))
  let ended: Promise<void> | undefined
  return {
    actors,
    close,
    stop: () => (ended ??= actors.stop().then(close)),
  }
}

/** What the actors cannot ask for through the port: a pod that is deleted is confirmed to be gone. */
function playKubelet(workload: Kube): Connection {
  const connection = connect(accessOf(workload, 'actors'))
  const { client, informers } = connection
  informers.register(PodKind)
  informers.onChange(PodKind, ({ type, object: { metadata } }) => {
    if (type === 'deleted' || !metadata.deletionTimestamp) return
    const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`
    const body = JSON.stringify({ gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } })
    const headers = { 'content-type': 'application/json' }
    // A server that is going down needs nobody to confirm.
    client.raw(path, { method: 'DELETE', body, headers }).catch(() => undefined)
  })
  informers.start()
  return connection
}

/** Runs the check until it holds; on failure says what the managers logged last. */
export async function eventually(
  world: Pick<World, 'manager' | 'capi'>,
  what: string,
  check: () => boolean | Promise<boolean>,
  seconds = TIMEOUT_SECONDS,
): Promise<void> {
  try {
    await until(what, check, seconds)
  } catch (error) {
    const logs = [`capt:\n${tail(world.manager.log, 15)}`, `core:\n${tail(world.capi.manager.log, 8)}`].join('\n')
    throw new Error(`${(error as Error).message}\n${logs}`)
  }
}

export function writeTemp(folder: string, name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
