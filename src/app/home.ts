// The embedded home: an API server on loopback, the controllers, a stand-in for core Cluster API, and the simulation.
// Everything that must survive is in one folder.
import { join } from 'node:path'
import { ALL_KINDS, CONTROLLER_GROUPS, toCustomResourceDefinition } from '#api'
import { type ApiServerOptions, type Converters, startApiServer } from '#apiserver'
import {
  clusterController,
  clusterDefinition,
  convertCluster,
  convertMachinePool,
  convertResourceSet,
  convertResourceSetBinding,
  machinePoolController,
  machinePoolDefinition,
  resourceSetBindingController,
  resourceSetController,
  resourceSetDefinitions,
} from '#core'
import type { DrainOptions } from '#engine'
import {
  connect,
  createEvents,
  fixedCredentials,
  loadKubeconfig,
  type Objects,
  readKubeconfigText,
  type Server,
  serverOf,
} from '#kube'
import { type Clock, systemClock } from '#lib'
import {
  createSimulation,
  type RealmAccess,
  type RealmConnection,
  type Simulation,
  simulatedInstances,
} from '#simulation'
import { prepareRestored } from './backup/prepare-restored.ts'
import { markHome } from './home-lease.ts'
import { type Manager, type ManagerOptions, startManager } from './manager.ts'

export interface HomeOptions {
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
  readonly kubeconfig: string
  readonly objects: Objects
  readonly manager: Manager
  failed(signal: AbortSignal): Promise<void>
  stop(): Promise<void>
}

/** The embedded API asks only for versions that a definition serves. */
const CONVERTERS = {
  'cluster.x-k8s.io/Cluster': convertCluster,
  'cluster.x-k8s.io/MachinePool': convertMachinePool,
  'addons.cluster.x-k8s.io/ClusterResourceSet': convertResourceSet,
  'addons.cluster.x-k8s.io/ClusterResourceSetBinding': convertResourceSetBinding,
} as unknown as Converters

export async function startHome(options: HomeOptions): Promise<Home> {
  const { clock = systemClock } = options
  const server = await startApiServer({
    dataDir: options.dataDir,
    host: options.host,
    port: options.port,
    formerPort: await formerPortOf(options.dataDir),
    clock,
    crds: [
      ...ALL_KINDS.map(toCustomResourceDefinition),
      clusterDefinition(),
      machinePoolDefinition(),
      ...resourceSetDefinitions(),
    ],
    converters: CONVERTERS,
    ...(options.keyCommand ? { keyCommand: options.keyCommand } : {}),
    ...(options.onRequest ? { onRequest: options.onRequest } : {}),
  })
  let simulation: Simulation | undefined
  try {
    await server.ready()
    const kubeconfig = server.kubeconfig()
    const access = await readKubeconfigText(kubeconfig, { origin: 'the embedded home', clock })
    const restoredAt = await prepareRestored(options.dataDir, access, clock)
    const manager = await startManager({
      access,
      controllers: CONTROLLER_GROUPS,
      instances: simulatedInstances,
      workDir: join(options.dataDir, 'runs'),
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
              const realm = server.realm(path)
              return { server: realm.url, caPem: realm.caPem, token: realm.token }
            },
            remove: async (path) => server.removeRealm(path),
          },
          connect: async (access) => connectRealm(access, clock),
          clusterApi: 'v1beta2',
          clock,
          log,
        })
        return [
          ...simulation.controllers,
          clusterController({ reach }),
          machinePoolController(),
          resourceSetController({
            connect: async (cluster) => {
              const workload = await workloads.open(cluster)
              if (!workload) throw new Error(`${cluster.namespace}/${cluster.name} has no kubeconfig yet`)
              return workload.objects
            },
          }),
          resourceSetBindingController(),
        ]
      },
    })
    const { client, objects } = manager.connection
    const unmark = await markHome(objects)
    return {
      ...serverOf(client),
      url: server.url,
      kubeconfig,
      objects,
      manager,
      failed: (signal) => manager.failed(signal),
      async stop() {
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

/** Actors see their workload cluster through HTTP, like everybody else. */
function connectRealm(access: RealmAccess, clock: Clock): RealmConnection {
  const { server, caPem: ca, token } = access
  const to = {
    server,
    ca,
    namespace: 'default',
    credentials: fixedCredentials({ token }),
    origin: 'the simulated workload',
  }
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
