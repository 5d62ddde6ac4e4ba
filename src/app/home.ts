// The embedded home: an API server on loopback, the controllers, a stand-in for core Cluster API, and the simulation.
// Everything that must survive is in one folder.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ALL_KINDS, CONTROLLER_GROUPS, toCustomResourceDefinition } from '#api'
import { type ApiServerOptions, type Converters, startApiServer } from '#apiserver'
import { CORE_CONVERTERS, coreControllers, coreDefinitions } from '#core'
import type { DrainOptions } from '#engine'
import {
  connect,
  createEvents,
  type Identity,
  loadKubeconfig,
  type Objects,
  type Server,
  type ServerAccess,
  serverOf,
} from '#kube'
import { type Clock, messageOf, redact, systemClock } from '#lib'
import { jsonLog } from '#server'
import { createSimulation, type RealmConnection, type Simulation, simulatedInstances } from '#simulation'
import { prepareRestored } from './backup/prepare-restored.ts'
import { markHome } from './home-lease.ts'
import { keepFile } from './keep-file.ts'
import { type Manager, type ManagerOptions, startManager } from './manager.ts'
import { runnerKubeconfig } from './runner.ts'

interface HomeOptions {
  readonly dataDir: string
  readonly host: string
  readonly port: number
  /** A shell command that prints the key of the data folder. */
  readonly keyCommand?: string
  readonly engine?: string
  readonly approval?: ManagerOptions['approval']
  readonly simulateWithoutTerraform?: boolean
  /** Program and first arguments that run `capt runner`; this very program when left out. */
  readonly runner?: readonly string[]
  /** Tokens are replaced after two thirds of it; 90 days when left out. */
  readonly tokenLifetimeMs?: number | undefined
  readonly logLevel: string
  readonly logTo: ManagerOptions['logTo']
  /** The machine's, unless a test sets it. */
  readonly clock?: Clock
  readonly env: Readonly<Record<string, string | undefined>>
  /** Runners end with this process: stopping waits for them. Left out, they outlive it and are adopted by the next one. */
  readonly shutdown?: DrainOptions | undefined
  /** Called for every request to the API, also for those of the home itself. */
  readonly onRequest?: ApiServerOptions['onRequest']
}

export interface Home extends Server {
  readonly url: string
  /** With the token of now. */
  readonly kubeconfig: string
  /** Credentials in it follow the rotation of the token. */
  readonly access: ServerAccess
  /** Writes the kubeconfig into the file, again whenever the token was replaced; returns what ends it. */
  keepKubeconfig(file: string): () => void
  readonly objects: Objects
  readonly manager: Manager
  failed(signal: AbortSignal): Promise<void>
  stop(): Promise<void>
}

export async function startHome(options: HomeOptions): Promise<Home> {
  const { clock = systemClock } = options
  const log = jsonLog({ level: 'warn', to: options.logTo })
  const server = await startApiServer({
    dataDir: options.dataDir,
    host: options.host,
    port: options.port,
    formerPort: await formerPortOf(options.dataDir),
    clock,
    crds: [...ALL_KINDS.map(toCustomResourceDefinition), ...coreDefinitions()],
    converters: CORE_CONVERTERS as unknown as Converters,
    tokenLifetimeMs: options.tokenLifetimeMs,
    log: (message, error) => log.error(message, { error: redact(messageOf(error)) }),
    ...(options.keyCommand ? { keyCommand: options.keyCommand } : {}),
    ...(options.onRequest ? { onRequest: options.onRequest } : {}),
  })
  let simulation: Simulation | undefined
  try {
    await server.ready()
    const access = liveAccess(server)
    const workDir = join(options.dataDir, 'runs')
    const tokenFile = join(workDir, 'token')
    mkdirSync(workDir, { recursive: true, mode: 0o700 })
    const keep = (file: string, content: () => string) =>
      keepFile(file, { onToken: server.onToken, content, clock, log })
    const endToken = keep(tokenFile, () => server.token)
    // For runs: it names the token file, and the authority of now.
    const endConfig = keep(join(workDir, 'kubeconfig'), () => runnerKubeconfig(access, tokenFile))
    const restoredAt = await prepareRestored(options.dataDir, access, clock)
    const manager = await startManager({
      access,
      tokenFile,
      controllers: CONTROLLER_GROUPS,
      instances: simulatedInstances,
      workDir,
      engine: options.engine,
      approval: { ...options.approval, ...(restoredAt === undefined ? {} : { restoredAt }) },
      ...(options.simulateWithoutTerraform ? { simulateWithoutTerraform: true } : {}),
      ...(options.runner ? { runner: options.runner } : {}),
      logLevel: options.logLevel,
      logTo: options.logTo,
      clock,
      env: { ...options.env, POD_NAMESPACE: 'default' },
      watchSecrets: true,
      shutdown: options.shutdown,
      extra: ({ workloads, reach, log }) => {
        simulation = createSimulation({
          realms: {
            ensure: async (path) => {
              const { url, caPem, token, tokenReplacedAt } = server.realm(path)
              return { server: url, caPem, token, tokenReplacedAt }
            },
            remove: async (path) => server.removeRealm(path),
          },
          connect: async (path) => connectRealm(server.realm(path), clock),
          clusterApi: 'v1beta2',
          clock,
          log,
        })
        return [...simulation.controllers, ...coreControllers({ reach, workloads })]
      },
    })
    const { client, objects } = manager.connection
    const unmark = await markHome(objects)
    return {
      ...serverOf(client),
      url: server.url,
      get kubeconfig() {
        return server.kubeconfig()
      },
      access,
      keepKubeconfig: (file) => keep(file, () => server.kubeconfig()),
      objects,
      manager,
      failed: (signal) => manager.failed(signal),
      async stop() {
        endToken()
        endConfig()
        await unmark()
        await manager.stop()
        await simulation?.stop()
        await server.close()
      },
    }
  } catch (error) {
    await server.close()
    throw error
  }
}

/**
 * The port in the kubeconfigs of the folder. Homes of earlier versions chose another port with every start and kept none,
 * but the last one is in addresses of simulated clusters, which are inputs of Terraform: another port would change them.
 */
async function formerPortOf(dataDir: string): Promise<number | undefined> {
  for (const path of [join(dataDir, 'runs', 'kubeconfig'), join(dataDir, 'kubeconfig')]) {
    const access = await loadKubeconfig({ path, env: {} }).catch(() => undefined)
    const port = Number(URL.parse(access?.server ?? '')?.port)
    if (port > 0) return port
  }
  return undefined
}

interface ServedRealm {
  readonly url: string
  readonly caPem: string
  readonly token: string
}

/** For this process, which reads the token and the authority of now with every request. */
function liveAccess(realm: ServedRealm, origin = 'the embedded home'): ServerAccess {
  const current = async () => ({ token: realm.token })
  const credentials = { current, renew: async (refused: Identity) => refused.token !== realm.token }
  return {
    server: realm.url,
    get ca() {
      return realm.caPem
    },
    namespace: 'default',
    credentials,
    origin,
  }
}

/** Actors see their workload cluster through HTTP, like everybody else. */
function connectRealm(realm: ServedRealm, clock: Clock): RealmConnection {
  const to = liveAccess(realm, 'the simulated workload')
  const main = connect(to, { clock })
  const others: { close(): Promise<void> }[] = []
  return {
    objects: main.objects,
    events: createEvents(main.objects, { clock, controller: 'capt.appthrust.com/simulation', instance: 'simulation' }),
    informers() {
      const connection = connect(to, { clock })
      others.push(connection)
      return connection.informers
    },
    async close() {
      for (const connection of [main, ...others]) await connection.close()
    },
  }
}
