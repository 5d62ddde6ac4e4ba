// A management cluster with core Cluster API and the built capt manager, and a second API server as workload cluster whose
// controllers are played by the simulation actors, through the real API.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ALL_KINDS, type Key, toCustomResourceDefinition } from '#api'
import { connect, createEvents, fixedCredentials } from '#kube'
import { silentLog, systemClock } from '#lib'
import { type Actors, simulatedLedger, startActors } from '#simulation'
import {
  type Capi,
  type CapiVersion,
  type Daemon,
  type Kube,
  startCapi,
  startDaemon,
  startKube,
  tail,
  until,
} from './lab.ts'

const ROOT = join(import.meta.dirname, '..', '..')

export interface ManagerProcess extends Daemon {
  readonly workDir: string
}

export async function startManagerProcess(
  kubeconfig: string,
  folder: string,
  args: readonly string[] = [],
): Promise<ManagerProcess> {
  const workDir = mkdtempSync(join(folder, 'runs-'))
  const program = join(ROOT, 'dist', 'program', 'capt.mjs')
  const flags = ['--max-old-space-size=72', '--max-semi-space-size=1']
  const fixed = ['manager', '--kubeconfig', kubeconfig, '--work-dir', workDir, '--health-probe-bind-address', '0']
  const env = { MALLOC_ARENA_MAX: '1' }
  const name = `capt-${Math.random().toString(36).slice(2, 8)}`
  const daemon = startDaemon(name, folder, process.execPath, [...flags, program, ...fixed, ...args], { env })
  await until('capt manager works', () => readFileSync(daemon.log, 'utf8').includes('Started controllers'), 60, daemon)
  return { ...daemon, workDir }
}

export interface World {
  readonly management: Kube
  readonly workload: Kube
  readonly capi: Capi
  readonly manager: ManagerProcess
  /** Lets simulation templates find the workload cluster, and plays its controllers. */
  play(cluster: Key): Promise<void>
  stop(): Promise<void>
}

export async function startWorld(version: CapiVersion): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'capt-real-world-'))
  const management = await startKube({ name: 'management' })
  const workload = await startKube({ name: 'workload' })
  const capi = await startCapi(management, version)
  installCrds(management)
  const manager = await startManagerProcess(management.kubeconfig, folder)
  const actors: { actors: Actors; close(): Promise<void> }[] = []
  return {
    management,
    workload,
    capi,
    manager,
    async play(cluster) {
      management.kubectl(['apply', '-f', '-'], JSON.stringify(workloadSecret(cluster, workload)))
      actors.push(await startPlaying(cluster, management, workload))
    },
    async stop() {
      for (const one of actors) {
        await one.actors.stop()
        await one.close()
      }
      await manager.stop()
      await capi.stop()
      await workload.stop()
      await management.stop()
      if (!process.env['CAPT_REAL_KEEP']) rmSync(folder, { recursive: true, force: true })
    },
  }
}

export function installCrds(kube: Kube): void {
  const crds = ALL_KINDS.map((kind) => JSON.stringify(toCustomResourceDefinition(kind))).join('\n---\n')
  kube.kubectl(['apply', '--server-side', '-f', '-'], crds)
  kube.kubectl([
    'wait',
    '--for=condition=Established',
    '--timeout=60s',
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
    stringData: { endpoint: workload.url, ca: workload.caPem, token: workload.token },
  }
}

async function startPlaying(cluster: Key, management: Kube, workload: Kube) {
  const access = (kube: Kube) => ({
    server: kube.url,
    ca: kube.caPem,
    namespace: 'default',
    credentials: fixedCredentials({ token: kube.token }),
    origin: 'the lab',
  })
  const home = connect(access(management))
  const main = connect(access(workload))
  const others = [home, main]
  const actors = await startActors({
    connection: {
      objects: main.objects,
      events: createEvents(main.objects, { controller: 'capt.appthrust.com/simulation', instance: 'lab' }),
      informers() {
        const connection = connect(access(workload))
        others.push(connection)
        return connection.informers
      },
    },
    ledger: simulatedLedger(home.objects, cluster),
    clock: systemClock,
    log: silentLog,
  })
  return {
    actors,
    async close() {
      for (const connection of others) await connection.close()
    },
  }
}

/** Runs the check until it holds; on failure says what the managers logged last. */
export async function eventually(
  world: Pick<World, 'manager' | 'capi'>,
  what: string,
  check: () => boolean,
  seconds = 90,
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
