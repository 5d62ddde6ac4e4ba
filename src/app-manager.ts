// Runs the controllers against one API server: who leads, what is cached, which controllers, where it is watched.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Instances } from '#addons'
import { SecretKind } from '#api'
import { connectAws } from '#aws'
import { clusterSecretInformer } from '#controllers'
import { announcePod, type DrainOptions, type Engine } from '#engine'
import {
  type AccessOptions,
  type Connection,
  connect,
  createClient,
  createEvents,
  findAccess,
  isServiceAccountChosen,
  type Objects,
  type ServerAccess,
  toSingleContext,
} from '#kube'
import { CaptError, type Clock, type Log, noMetrics, sleep, systemClock } from '#lib'
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
import { refuseBesideHome } from './app-beside.ts'
import { CONTROLLER_GROUPS, type ControllerGroup, controllersOf } from './app-controllers.ts'
import { startEngine } from './app-engine.ts'
import { awsInstances, eitherInstances } from './app-instances.ts'
import { measureRuns } from './app-metrics.ts'
import { informerOf } from './app-projections.ts'
import { reach } from './app-reach.ts'
import { isSingleTenant, podOfToken, writeKubeconfig, writeRunnerKubeconfig } from './app-runner.ts'
import { type ServedVersions, servedVersions, shipPipeline } from './app-served.ts'
import { openWorkloads, type WorkloadDoors } from './app-workloads.ts'
import type { Sink } from './cli/command.ts'

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
  /** In a cluster: let the runs of several namespaces share the identity and the disk of the manager. */
  readonly allowSharedRunner?: boolean
  /** Runners end with this process, as in a pod: stopping waits for them. Left out, they outlive it. */
  readonly shutdown?: DrainOptions | undefined
  /** A second cloud beside AWS that may have machines of a cluster. */
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
  /** Undefined where no controller needs Terraform. */
  readonly engine: Engine | undefined
  readonly workloads: WorkloadDoors
  /** Pending while all is well; resolves when the signal is aborted, rejects when leadership is lost. */
  failed(signal: AbortSignal): Promise<void>
  /** Resolves when the API server answers again. */
  answers(signal: AbortSignal): Promise<void>
  /** Ends the controllers, waits for runners where they would end with this process, and closes the rest. */
  stop(options?: { readonly leaveRunners?: boolean }): Promise<void>
}

const LEASE = 'capt-controller-manager'
const PAGE_SIZE = 25
/** What the turns told last is written before the lease is given back, unless the API server takes longer than this. */
const LAST_WORDS_MS = 3_000
/** How often an API server that is away is asked whether it is back. */
const ANSWER_MS = 2_000
/** For audit logs, where a runner comes under the same name. */
const USER_AGENT = 'capt-manager'

export async function startManager(options: ManagerOptions): Promise<Manager> {
  const { env, namespace, clock = systemClock } = options
  if (options.watchSecrets && namespace === undefined && !options.extra)
    throw new CaptError('CAPT_USAGE', 'Secrets are watched in one namespace only', {
      hint: 'add --namespace, or leave --watch-secrets out: they are read by name then',
    })
  const log = jsonLog({ level: levelOf(options.logLevel), to: { write: (line: string) => options.logTo.write(line) } })
  const chosen: AccessOptions = {
    ...(options.kubeconfig === undefined ? {} : { path: options.kubeconfig }),
    ...(options.context === undefined ? {} : { context: options.context }),
    env,
    clock,
  }
  const access = options.access ?? (await findAccess(chosen))
  // Nobody can ask for numbers that are served nowhere.
  const numbers = options.metrics && prometheusMetrics()
  const metrics = numbers ?? noMetrics
  const identity = `${hostname()}_${randomUUID()}`
  // Runs in a pod name it, so that its end proves theirs; only where the API server is the one of the pod's cluster.
  const pod = options.access === undefined && isServiceAccountChosen(chosen) ? podOfToken() : undefined
  if (pod) announcePod(pod)
  const connection = connect(access, { clock, pageSize: PAGE_SIZE, fieldManager: 'capt', userAgent: USER_AGENT })
  const undo: (() => Promise<unknown> | unknown)[] = [() => connection.close()]
  let quiesce = async (): Promise<void> => undefined
  let drain = async (): Promise<void> => undefined
  let stopped: Promise<void> | undefined
  const stop = ({ leaveRunners = false } = {}): Promise<void> => {
    stopped ??= (async () => {
      await quiesce()
      // Probes are answered meanwhile: nothing is wrong with a manager that waits.
      if (!leaveRunners) await drain()
      for (const step of undo.splice(0).reverse()) await step()
    })()
    return stopped
  }
  const { promise: lost, reject: onLost } = Promise.withResolvers<never>()
  // What is still on its way ends here: a successor may begin in five seconds.
  lost.catch(() => connection.client.close())
  try {
    if (!options.extra) await refuseBesideHome(connection)
    const versions = await servedVersions(connection)
    const election = options.leaderElection === undefined ? undefined : startElection(access, options.leaderElection)
    const objects = election ? fenced(connection.objects, election) : connection.objects
    const events = createEvents(objects, { clock, controller: 'capt.appthrust.com/manager', instance: identity })
    // Only the applies need Terraform: a manager of the control plane alone starts without one.
    const engine = options.controllers.includes('infrastructure') ? await openEngine(objects) : undefined
    undo.push(() => engine?.stop())
    const { shutdown } = options
    if (engine && shutdown) drain = () => engine.drain(shutdown)
    const workloads = openWorkloads(objects, clock, (workload) => (election ? fenced(workload, election) : workload))
    void lost.catch(() => workloads.close())
    undo.push(() => workloads.close())
    const parts: ManagerParts = { connection, workloads, clock, log, reach: (kubeconfig) => reach(kubeconfig, clock) }
    const aws = connectAws({ clock, env })
    const homeNamespace = namespace ?? env['POD_NAMESPACE'] ?? 'capt-system'
    const own = controllersOf({
      groups: options.controllers,
      versions,
      objects,
      events,
      cache: connection.informers,
      engine,
      homeNamespace,
      metrics,
      aws,
      ...parts,
      watchSecrets: options.watchSecrets === true,
      singleTenant: isSingleTenant({
        ...options,
        isInPod: options.access === undefined && isServiceAccountChosen(chosen),
        engineName: engine?.name,
      }),
      instances: instancesOf(objects, versions),
      wake: (controller, key) => running.wake(controller, key),
    })
    undo.push(() => own.stop())
    const controllers = [...own.all, ...(options.extra?.(parts) ?? [])]
    if (kindsOf(controllers, true).length > 0)
      connection.informers.register(SecretKind, { ...(namespace ? { namespace } : {}), ...clusterSecretInformer })
    const isHome = options.extra !== undefined
    for (const kind of kindsOf(controllers, false))
      connection.informers.register(kind, { ...(namespace ? { namespace } : {}), ...informerOf(kind, isHome) })
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
    let ending: Promise<void> | undefined
    quiesce = () => {
      ending ??= (async () => {
        await running.stop()
        await Promise.race([events.flush(), sleep(clock, LAST_WORDS_MS)])
        await election?.stop()
      })()
      return ending
    }
    undo.push(quiesce)
    if (engine) undo.push(engine.onChange((key) => running.wake('workspacetemplateapply', key)))
    if (options.controllers.includes('infrastructure')) measureRuns(connection.informers, metrics, clock)
    const synced = running.synced()
    if (options.health) {
      const ready = [until('caches', synced, 'caches are not filled yet')]
      const health = await serveHealth({ live: [], ready, clock, ...options.health })
      undo.push(() => health.close())
    }
    if (options.metrics && numbers) {
      const certificate = selfSigned(['localhost', LEASE], ['127.0.0.1'], clock)
      const review = reviewByApiServer({ objects: connection.objects, clock, log })
      const server = await serveMetrics({ metrics: numbers, review, certificate, clock, log, ...options.metrics })
      undo.push(() => server.close())
    }
    if (options.controllers.includes('addons')) {
      const ending = new AbortController()
      undo.push(() => ending.abort())
      // A manager that is stopped before its caches are filled has nothing to ship.
      void Promise.all([synced, election?.elected]).then(
        () => shipPipeline(objects, homeNamespace, { log, clock, signal: ending.signal }),
        () => undefined,
      )
    }
    return {
      connection,
      engine,
      workloads,
      failed: (signal) => Promise.race([lost, aborted(signal)]),
      async answers(signal) {
        await quiesce()
        const client = createClient(access, { clock, userAgent: USER_AGENT })
        try {
          while (!signal.aborted && !(await client.raw('/version').then(isFine, () => false)))
            await Promise.race([sleep(clock, ANSWER_MS), aborted(signal)])
        } finally {
          await client.close()
        }
      },
      stop,
    }

    function instancesOf(to: Objects, served: ServedVersions): Instances {
      const inAws = awsInstances({ objects: to, cache: connection.informers, versions: served, aws })
      return options.instances ? eitherInstances(options.instances(to), inAws) : inAws
    }

    async function openEngine(to: Objects): Promise<Engine> {
      return await startEngine({
        ...options,
        objects: to,
        clock,
        log,
        kubeconfigForRunner: await kubeconfigForRunner(),
        hasAuthority: access.ca !== undefined,
      })
    }

    /** Leads every run to the API server that the manager itself works for. */
    async function kubeconfigForRunner(): Promise<string> {
      const { workDir, kubeconfig, context } = options
      if (options.access !== undefined) return await writeRunnerKubeconfig(workDir, access, true)
      if (isServiceAccountChosen(chosen)) return await writeRunnerKubeconfig(workDir, access, false)
      // A file that was named is read again by the runs, so that its credentials may change.
      if (kubeconfig !== undefined && context === undefined) return kubeconfig
      return writeKubeconfig(workDir, await toSingleContext(chosen))
    }

    function startElection(to: ServerAccess, leaseNamespace: string) {
      const client = createClient(to, { clock, userAgent: USER_AGENT })
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
}

const isFine = ({ status }: { readonly status: number }): boolean => status === 200

function leaseName(groups: readonly ControllerGroup[]): string {
  return groups.length === CONTROLLER_GROUPS.length ? LEASE : `${LEASE}-${[...groups].sort().join('-')}`
}

function kindsOf(controllers: readonly AnyController[], secrets: boolean) {
  return controllers
    .flatMap(({ kind, wakes }) => [kind, ...wakes.map((wake) => wake.kind)])
    .filter(({ kind }) => (kind === SecretKind.kind) === secrets)
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
