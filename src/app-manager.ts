// Runs the controllers against one API server: who leads, what is cached, which controllers, where it is watched.
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import {
  addonDeliveryController,
  addonPipelineController,
  DELIVERY_CONTROLLER,
  defaultPipeline,
  type Instances,
} from '#addons'
import {
  AddonPipeline,
  type AnyObject,
  CLUSTER_API_VERSIONS,
  type ClusterApiVersion,
  clusterKind,
  SecretKind,
} from '#api'
import { connectAws } from '#aws'
import { checkPair } from '#catalog'
import {
  captClusterController,
  captControlPlaneController,
  clusterSecretInformer,
  workspaceApplyController,
  workspaceTemplateController,
} from '#controllers'
import type { Engine } from '#engine'
import {
  type Connection,
  connect,
  createClient,
  createEvents,
  discover,
  findAccess,
  isKubeError,
  type Objects,
  readKubeconfigText,
  type ServerAccess,
} from '#kube'
import { CaptError, type Clock, type Log, messageOf, systemClock } from '#lib'
import { type AnyController, fenced, runControllers, runElection, watchFilter } from '#runtime'
import {
  jsonLog,
  type LogLevel,
  prometheusMetrics,
  reviewByApiServer,
  selfSigned,
  serveHealth,
  serveMetrics,
  until,
} from '#server'
import { startEngine } from './app-engine.ts'
import { projectionOf } from './app-projections.ts'
import { openWorkloads, type WorkloadDoors } from './app-workloads.ts'
import type { Sink } from './cli/command.ts'

export const CONTROLLER_GROUPS = ['infrastructure', 'control-plane', 'addons'] as const
export type ControllerGroup = (typeof CONTROLLER_GROUPS)[number]

interface Address {
  readonly host: string
  readonly port: number
}

export interface ManagerOptions {
  readonly kubeconfig?: string | undefined
  readonly context?: string | undefined
  readonly namespace?: string | undefined
  readonly watchFilter?: string | undefined
  readonly controllers: readonly ControllerGroup[]
  /** Namespace of the Lease; undefined runs without election. */
  readonly leaderElection?: string | undefined
  readonly health?: Address | undefined
  readonly metrics?: Address | undefined
  readonly workDir: string
  readonly engine?: string | undefined
  readonly simulateWithoutTerraform?: boolean
  readonly runner?: readonly string[]
  readonly concurrentRuns: number
  readonly logLevel: string
  readonly logTo: Sink
  /** The machine's, unless a test winds it by hand. Its timers never keep the process alive. */
  readonly clock?: Clock
  readonly env: Readonly<Record<string, string | undefined>>
  /** What the embedded home adds: core's part and the simulation. */
  readonly extra?: (parts: ManagerParts) => readonly AnyController[]
  /** Watch the Secrets of clusters: for the embedded home, and for one namespace whose role allows it. */
  readonly watchSecrets?: boolean
  readonly access?: ServerAccess
  /** Finds machines that a dead Karpenter left behind; without it they cannot be listed. */
  readonly instances?: (objects: Objects) => Instances
}

export interface ManagerParts {
  readonly connection: Connection
  readonly workloads: WorkloadDoors
  readonly clock: Clock
  readonly log: Log
  readonly reach: (kubeconfig: string) => Promise<string | undefined>
}

export interface Manager {
  readonly connection: Connection
  readonly engine: Engine
  readonly workloads: WorkloadDoors
  /** Pending while all is well; resolves when the signal is aborted, rejects when leadership is lost. */
  failed(signal: AbortSignal): Promise<void>
  stop(): Promise<void>
}

const LEASE = 'capt-controller-manager'
const PAGE_SIZE = 25
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

export async function startManager(options: ManagerOptions): Promise<Manager> {
  const { env, namespace, clock = systemClock } = options
  const log = jsonLog({ level: levelOf(options.logLevel), to: { write: (line: string) => options.logTo.write(line) } })
  const access =
    options.access ??
    (await findAccess({
      ...(options.kubeconfig === undefined ? {} : { path: options.kubeconfig }),
      ...(options.context === undefined ? {} : { context: options.context }),
      env,
      clock,
    }))
  const metrics = prometheusMetrics()
  const identity = `${hostname()}_${randomUUID()}`
  const connection = connect(access, { clock, pageSize: PAGE_SIZE, fieldManager: 'capt' })
  const undo: (() => Promise<unknown> | unknown)[] = [() => connection.close()]
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  const { promise: lost, reject: onLost } = Promise.withResolvers<never>()
  lost.catch(() => undefined)
  try {
    const versions = await servedVersions(connection)
    const election = options.leaderElection === undefined ? undefined : startElection(access, options.leaderElection)
    const objects = election ? fenced(connection.objects, election) : connection.objects
    const events = createEvents(objects, { clock, controller: 'capt.appthrust.com/manager', instance: identity })
    const engine = await startEngine({
      ...options,
      objects,
      clock,
      log,
      kubeconfigForRunner: await runnerKubeconfig(access),
    })
    undo.push(() => engine.stop())
    const workloads = openWorkloads(objects, clock)
    undo.push(() => workloads.close())
    const parts: ManagerParts = { connection, workloads, clock, log, reach: (kubeconfig) => reach(kubeconfig, clock) }
    const controllers = [...controllersOf(), ...(options.extra?.(parts) ?? [])]
    if (kindsOf(controllers, true).length > 0)
      connection.informers.register(SecretKind, { ...(namespace ? { namespace } : {}), ...clusterSecretInformer })
    for (const kind of kindsOf(controllers, false)) {
      const project = projectionOf(kind)
      connection.informers.register(kind, { ...(namespace ? { namespace } : {}), ...(project ? { project } : {}) })
    }
    const running = runControllers({
      controllers,
      objects,
      informers: connection.informers,
      events,
      clock,
      log,
      metrics,
      ...(namespace ? { namespace } : {}),
      ...(options.watchFilter ? { accepts: watchFilter(options.watchFilter) } : {}),
      ...(election ? { elected: election.elected } : {}),
    })
    // Work ends first, then the lease is given back.
    undo.push(async () => {
      await running.stop()
      await election?.stop()
    })
    undo.push(engine.onChange((key) => running.wake('workspacetemplateapply', key)))
    const synced = running.synced()
    if (options.health) {
      const ready = [until('caches', synced, 'caches are not filled yet')]
      const health = await serveHealth({ live: [], ready, clock, ...options.health })
      undo.push(() => health.close())
    }
    if (options.metrics) {
      const certificate = selfSigned(['localhost', LEASE], ['127.0.0.1'], clock)
      const review = reviewByApiServer({ objects: connection.objects, clock, log })
      const server = await serveMetrics({ metrics, review, certificate, clock, log, ...options.metrics })
      undo.push(() => server.close())
    }
    if (options.controllers.includes('addons'))
      void Promise.all([synced, election?.elected]).then(() => shipPipeline(objects, namespace ?? homeNamespace(), log))
    return {
      connection,
      engine,
      workloads,
      failed: (signal) => Promise.race([lost, aborted(signal)]),
      stop,
    }

    function controllersOf(): AnyController[] {
      const cluster = clusterKind(versions.cluster)
      const wanted = (group: ControllerGroup) => options.controllers.includes(group)
      const found: AnyController[] = []
      if (wanted('infrastructure')) {
        found.push(
          captClusterController({ clusterKind: cluster }),
          workspaceApplyController({ engine, clusterKind: cluster }),
          workspaceTemplateController(),
        )
      }
      if (wanted('control-plane')) {
        const controller = captControlPlaneController({
          clusterKind: cluster,
          aws: connectAws({ clock }),
          objects,
          events,
          clock,
          log,
          metrics,
          reach: parts.reach,
          secrets: options.watchSecrets ? 'watched' : { wake: (plane) => running.wake('captcontrolplane', plane) },
          checkVersion: (kubernetes) => {
            const [fault] = checkPair({ kubernetes })
            return fault ? { message: fault.message, hint: fault.hint } : undefined
          },
        })
        undo.push(() => controller.stop())
        found.push(controller)
      }
      if (wanted('addons')) {
        const homes = { clusterApi: versions.cluster, homeNamespace: namespace ?? homeNamespace() }
        const deliveries = addonDeliveryController({
          ...homes,
          workloads,
          resourceSets: versions.resourceSets,
          fetchText,
          wake: (key) => wakeDelivery(key),
          ...(options.instances ? { instances: options.instances(objects) } : {}),
        })
        undo.push(() => deliveries.stop())
        found.push(addonPipelineController(homes), deliveries)
      }
      return found
    }

    function wakeDelivery(key: Parameters<typeof running.wake>[1]): void {
      running.wake(DELIVERY_CONTROLLER, key)
    }

    function startElection(to: ServerAccess, leaseNamespace: string) {
      const client = createClient(to, { clock })
      undo.push(() => client.close())
      return runElection({
        objects: client,
        clock,
        log,
        lease: { namespace: leaseNamespace, name: leaseName(options.controllers) },
        identity,
        onLost: () =>
          onLost(
            new CaptError('CAPT_LEADERSHIP_LOST', 'Leadership was lost: another manager may work now', {
              hint: 'this process ends and starts anew',
            }),
          ),
      })
    }
  } catch (error) {
    await stop()
    throw error
  }

  function homeNamespace(): string {
    return env['POD_NAMESPACE'] ?? 'capt-system'
  }

  async function runnerKubeconfig(to: ServerAccess): Promise<string> {
    if (options.kubeconfig !== undefined) return options.kubeconfig
    mkdirSync(options.workDir, { recursive: true, mode: 0o700 })
    const path = join(options.workDir, 'kubeconfig')
    // In a pod the token is rotated on disk, so the runner reads the file; the embedded home's token does not change.
    const user = options.access
      ? { token: (await to.credentials.current()).token }
      : { tokenFile: `${SERVICE_ACCOUNT}/token` }
    const cluster = {
      server: to.server,
      ...(to.ca ? { 'certificate-authority-data': Buffer.from(to.ca).toString('base64') } : {}),
    }
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'capt', cluster }],
      users: [{ name: 'capt', user }],
      contexts: [{ name: 'capt', context: { cluster: 'capt', user: 'capt', namespace: to.namespace } }],
      'current-context': 'capt',
    }
    writeFileSync(path, JSON.stringify(kubeconfig), { mode: 0o600 })
    return path
  }
}

function leaseName(groups: readonly ControllerGroup[]): string {
  return groups.length === CONTROLLER_GROUPS.length ? LEASE : `${LEASE}-${[...groups].sort().join('-')}`
}

function kindsOf(controllers: readonly AnyController[], secrets: boolean) {
  return controllers
    .flatMap(({ kind, wakes }) => [kind, ...wakes.map((wake) => wake.kind)])
    .filter(({ kind }) => (kind === SecretKind.kind) === secrets)
}

async function servedVersions(
  connection: Connection,
): Promise<{ cluster: ClusterApiVersion; resourceSets: ClusterApiVersion | undefined }> {
  const { servedVersion } = discover(connection.client)
  const cluster = await servedVersion('cluster.x-k8s.io', CLUSTER_API_VERSIONS)
  if (!cluster) {
    throw new CaptError(
      'CAPT_CLUSTER_API_MISSING',
      `${connection.client.access.server} does not serve Cluster: core Cluster API is not installed there`,
      {
        hint: 'run clusterctl init first, or use an embedded home: capt up --data DIR',
      },
    )
  }
  return { cluster, resourceSets: await servedVersion('addons.cluster.x-k8s.io', CLUSTER_API_VERSIONS) }
}

/** The pipeline that comes with capt is made once; people may change or delete what they do not want. */
async function shipPipeline(objects: Objects, namespace: string, log: Log): Promise<void> {
  try {
    await objects.create<AnyObject>(AddonPipeline, defaultPipeline(namespace))
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists'))
      log.warn('Making the default pipeline failed', { error: messageOf(error) })
  }
}

/** Undefined when the API server behind a kubeconfig answers, else why not. */
async function reach(kubeconfig: string, clock: Clock): Promise<string | undefined> {
  const client = createClient(
    await readKubeconfigText(kubeconfig, { origin: 'the kubeconfig of the cluster', clock }),
    { clock },
  )
  try {
    const { status } = await client.raw('/readyz', { timeoutMs: 10_000 })
    return status === 200 ? undefined : `${client.access.server} answered ${status} to /readyz`
  } catch (error) {
    return messageOf(error)
  } finally {
    client.close()
  }
}

function levelOf(text: string): LogLevel {
  if (['debug', 'info', 'warn', 'error'].includes(text)) return text as LogLevel
  throw new CaptError('CAPT_USAGE', `--log-level ${text} is not known`, { hint: 'one of: debug, info, warn, error' })
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

const MAX_INSTALL_BYTES = 4 << 20

/** An install file that a pipeline names by address and checksum. */
async function fetchText(url: string): Promise<string> {
  const refuse = (message: string) =>
    new CaptError('CAPT_FLUX_MANIFEST', `${url}: ${message}`, { hint: 'check the address in the pipeline' })
  if (!url.startsWith('https://')) throw refuse('only https addresses are fetched')
  const answer = await fetch(url, { signal: AbortSignal.timeout(30_000), redirect: 'follow' })
  if (!answer.ok) throw refuse(`answered ${answer.status}`)
  const text = await answer.text()
  if (text.length > MAX_INSTALL_BYTES) throw refuse('is larger than 4 MiB')
  return text
}
