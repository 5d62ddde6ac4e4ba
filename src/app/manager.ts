// Runs the controllers against one API server: who leads, what is cached, which controllers, where it is watched.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { CONTROLLER_GROUPS, type ControllerGroup, clusterKind, SecretKind, toKey } from '#api'
import { connectAws } from '#aws'
import {
  type ApprovalOptions,
  awsInstances,
  clusterSecretInformer,
  controllersOf,
  DEFAULT_APPROVAL,
  eitherInstances,
  type Instances,
  informerOf,
  measureRuns,
  measureStages,
  type ServedVersions,
} from '#controllers'
import { announcePod, applyOfChecks, type DrainOptions, type Engine, type Limits } from '#engine'
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
  whenRenewed,
} from '#kube'
import { CaptError, type Clock, type Log, noMetrics, shortHash, sleep, systemClock, VERSION } from '#lib'
import { createNotifier, httpPost, notifying } from '#notify'
import { type AnyController, fenced, runControllers, runElection, watchFilter } from '#runtime'
import {
  answering,
  eventLoop,
  jsonLog,
  type LeveledLog,
  type LogLevel,
  prometheusMetrics,
  reviewByApiServer,
  selfSigned,
  serveHealth,
  serveMetrics,
  until,
  withinDeadline,
} from '#server'
import { engineOf, type JobSettings, startEngine } from './engine.ts'
import { refuseBesideHome } from './home-lease.ts'
import { fetchText, reach } from './reach.ts'
import { isSingleTenant, podOfToken, runnerKubeconfig, writeKubeconfig } from './runner.ts'
import { servedVersions, shipPipeline } from './served.ts'
import { tagCounter } from './tagged.ts'
import { openWorkloads, type WorkloadConnections } from './workloads.ts'

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
  /** How many runs at once; what is left out has its default. */
  readonly limits?: Partial<Limits>
  readonly approval?: Partial<ApprovalOptions>
  /** `namespace/name` of the Secret with the webhook of namespaces that have none of their own. */
  readonly notificationSecret?: string | undefined
  /** Of runs in Jobs. */
  readonly jobs?: {
    /** Namespace of the Jobs; that of the manager otherwise. */
    readonly runNamespace?: string | undefined
    readonly image?: string | undefined
    readonly accounts: readonly string[]
    readonly memory?: string | undefined
    readonly storage?: string | undefined
  }
  readonly logLevel: string
  readonly logTo: { write(line: string): void }
  /** The machine's, unless a test sets it. Its timers never keep the process alive. */
  readonly clock?: Clock
  readonly env: Readonly<Record<string, string | undefined>>
  /** What the embedded home adds: core's part and the simulation. */
  readonly extra?: (parts: ManagerParts) => readonly AnyController[]
  /** Watch the Secrets of clusters: for the embedded home, and for one namespace whose role allows it. */
  readonly watchSecrets?: boolean
  readonly access?: ServerAccess
  /** With `access`: the file that has its token, for runners. */
  readonly tokenFile?: string
  /** In a cluster: let the runs of several namespaces share the identity and the disk of the manager. */
  readonly allowSharedRunner?: boolean
  /** Runners end with this process, as in a pod: stopping waits for them. Left out, they outlive it. */
  readonly shutdown?: DrainOptions | undefined
  /** A second cloud beside AWS that may have machines of a cluster. */
  readonly instances?: (objects: Objects) => Instances
}

interface ManagerParts {
  readonly connection: Connection
  readonly workloads: WorkloadConnections
  readonly clock: Clock
  readonly log: Log
  readonly reach: (kubeconfig: string) => Promise<string | undefined>
}

export interface Manager {
  readonly connection: Connection
  /** Undefined where no controller needs Terraform. */
  readonly engine: Engine | undefined
  readonly workloads: WorkloadConnections
  /** Pending while all is well; resolves when the signal is aborted, rejects when leadership is lost. */
  failed(signal: AbortSignal): Promise<void>
  /** Resolves when the API server answers again. */
  answers(signal: AbortSignal): Promise<void>
  /** Ends the controllers, waits for runners where they would end with this process, and closes the rest. */
  stop(options?: { readonly leaveRunners?: boolean }): Promise<void>
}

const LEASE = 'capt-controller-manager'
const PAGE_SIZE = 25
/** How long the last events may take to be written before the lease is released. */
const FINAL_FLUSH_MS = 3_000
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
  refuseFutureRestore(options.approval?.restoredAt, clock)
  const level = levelOf(options.logLevel)
  const log = jsonLog({ level, to: options.logTo })
  const chosen: AccessOptions = {
    ...(options.kubeconfig === undefined ? {} : { path: options.kubeconfig }),
    ...(options.context === undefined ? {} : { context: options.context }),
    env,
    clock,
  }
  let copyForRunner = async (): Promise<unknown> => undefined
  const access =
    options.access ?? whenRenewed(await findAccess(chosen), () => void copyForRunner().catch(() => undefined))
  // Without an address for metrics nothing is recorded.
  const numbers = options.metrics && prometheusMetrics()
  const metrics = numbers ?? noMetrics
  const identity = `${hostname()}_${randomUUID()}`
  // Runs in a pod name it, so that its end proves theirs; only where the API server is the one of the pod's cluster.
  const isInPod = options.access === undefined && isServiceAccountChosen(chosen)
  const pod = isInPod ? podOfToken() : undefined
  if (pod) announcePod(pod)
  const connection = connect(access, { clock, pageSize: PAGE_SIZE, fieldManager: 'capt', userAgent: USER_AGENT })
  const undo: (() => Promise<unknown> | unknown)[] = [() => connection.close(), switchLevelOnSignal(log, level)]
  const aws = connectAws({ clock, env })
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
    const recorder = createEvents(objects, { clock, controller: 'capt.appthrust.com/manager', instance: identity })
    const notifier = createNotifier({
      objects,
      clock,
      metrics,
      events: recorder,
      post: httpPost,
      fallback: options.notificationSecret === undefined ? undefined : toKey(options.notificationSecret),
      // The embedded home has one tenant: who runs it.
      trustsTenants: options.extra !== undefined,
    })
    undo.push(() => notifier.stop())
    const events = notifying(recorder, notifier)
    // Only the applies need Terraform: a manager of the control plane alone starts without one.
    const engine = options.controllers.includes('infrastructure') ? await openEngine(objects) : undefined
    undo.push(() => engine?.stop())
    const { shutdown } = options
    if (engine && shutdown) drain = () => engine.drain(shutdown)
    const workloads = openWorkloads(objects, clock, (workload) => (election ? fenced(workload, election) : workload))
    void lost.catch(() => workloads.close())
    undo.push(() => workloads.close())
    const parts: ManagerParts = { connection, workloads, clock, log, reach: (kubeconfig) => reach(kubeconfig, clock) }
    const homeNamespace = namespace ?? env['POD_NAMESPACE'] ?? 'capt-system'
    const accepts = watchFilter(options.watchFilter, (key) =>
      connection.informers.get(clusterKind(versions.cluster), key),
    )
    const own = controllersOf({
      accepts,
      groups: options.controllers,
      versions,
      objects,
      events,
      cache: connection.informers,
      engine,
      fetchText,
      homeNamespace,
      metrics,
      aws,
      ...parts,
      watchSecrets: options.watchSecrets === true,
      singleTenant: isSingleTenant({
        ...options,
        isInPod,
        engineName: engine?.name,
      }),
      approval: { ...DEFAULT_APPROVAL, ...options.approval },
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
      accepts,
      ...(election ? { elected: election.elected } : {}),
    })
    // Work ends first, then the lease is given back.
    let ending: Promise<void> | undefined
    quiesce = () => {
      ending ??= (async () => {
        await running.stop()
        await Promise.race([Promise.all([recorder.flush(), notifier.settled()]), sleep(clock, FINAL_FLUSH_MS)])
        await election?.stop()
      })()
      return ending
    }
    undo.push(quiesce)
    if (engine) undo.push(engine.onChange((key) => running.wake('workspacetemplateapply', applyOfChecks(key))))
    if (options.controllers.includes('infrastructure')) measureRuns(connection.informers, metrics, clock)
    if (options.controllers.includes('addons')) measureStages(connection.informers, metrics, clock)
    metrics
      .gauge({ name: 'capt_build_info', about: 'Always 1; the version is in the label.', labels: ['version'] })
      .set({ version: VERSION }, 1)
    const synced = running.synced()
    if (options.health) {
      const closing = new AbortController()
      const live = [eventLoop(clock, closing.signal), withinDeadline(running.longest)]
      // An API server that is away is no reason to restart a manager: it waits for it.
      const ready = [
        until('caches', synced, 'caches are not filled yet'),
        answering('api-server', () => connection.client.raw('/version').then(isFine)),
      ]
      const health = await serveHealth({ live, ready, clock, ...options.health })
      undo.push(() => health.close())
      undo.push(() => closing.abort())
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
        () =>
          shipPipeline(objects, homeNamespace, { log, clock, signal: ending.signal, watchFilter: options.watchFilter }),
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
      const inAws = awsInstances({ objects: to, cache: connection.informers, clusterApi: served.cluster, aws })
      return options.instances ? eitherInstances(options.instances(to), inAws) : inAws
    }

    async function openEngine(to: Objects): Promise<Engine> {
      const { isJob, program } = engineOf(options.engine, { isInPod })
      return await startEngine({
        ...options,
        engine: program,
        objects: to,
        clock,
        log,
        kubeconfigForRunner,
        jobs: isJob ? jobSettings() : undefined,
        hasAuthority: access.ca !== undefined,
        countTagged: tagCounter(to, aws, log),
      })
    }

    function jobSettings(): JobSettings {
      const { runNamespace = env['POD_NAMESPACE'], image, ...rest } = options.jobs ?? { accounts: [] }
      if (!image || !runNamespace)
        throw new CaptError('CAPT_USAGE', `the engine job needs ${image ? '--run-namespace' : '--runner-image'}`, {
          hint: 'install.yaml sets both; --engine local runs Terraform beside the manager instead',
        })
      const caData = access.ca && Buffer.from(access.ca).toString('base64')
      return {
        ...rest,
        runNamespace,
        image,
        access: { server: access.server, caData },
        informers: connection.informers,
      }
    }

    /** Leads every run to the API server that the manager itself works for. */
    async function kubeconfigForRunner(): Promise<string> {
      const { workDir, kubeconfig, context } = options
      if (options.access !== undefined) return writeKubeconfig(workDir, runnerKubeconfig(access, options.tokenFile))
      if (isServiceAccountChosen(chosen)) return writeKubeconfig(workDir, runnerKubeconfig(access))
      // A file that was named is read again by the runs, so that its credentials may change.
      if (kubeconfig !== undefined && context === undefined) return kubeconfig
      const copy = async () => writeKubeconfig(workDir, await toSingleContext(chosen))
      // Runs that are refused read the copy again.
      copyForRunner = copy
      return await copy()
    }

    function startElection(to: ServerAccess, leaseNamespace: string) {
      const client = createClient(to, { clock, userAgent: USER_AGENT })
      undo.push(() => client.close())
      return runElection({
        objects: client,
        clock,
        log,
        lease: { namespace: leaseNamespace, name: leaseName(options.controllers, options.watchFilter) },
        identity,
        onLost: () =>
          onLost(
            new CaptError('CAPT_LEADERSHIP_LOST', 'Leadership was lost: another manager may work now', {
              hint: 'this process ends and starts again',
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

/** Managers that share the work by controller or by label each have a leader. */
function leaseName(groups: readonly ControllerGroup[], filter: string | undefined): string {
  const parts = groups.length === CONTROLLER_GROUPS.length ? [] : [...groups].sort()
  const shard = !filter
    ? []
    : ['filter', /^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$/.test(filter) ? filter : shortHash(filter)]
  return [LEASE, ...parts, ...shard].join('-')
}

function kindsOf(controllers: readonly AnyController[], secrets: boolean) {
  return controllers
    .flatMap(({ kind, wakes }) => [kind, ...wakes.map((wake) => wake.kind)])
    .filter(({ kind }) => (kind === SecretKind.kind) === secrets)
}

/** SIGUSR2 switches between debug and the level of the command line. Returns how to stop that. */
function switchLevelOnSignal(log: LeveledLog, level: LogLevel): () => void {
  let current = level
  const onSignal = () => {
    current = current === 'debug' ? level : 'debug'
    log.setLevel(current)
    log.warn('The log level was changed', { to: current })
  }
  process.on('SIGUSR2', onSignal)
  return () => void process.off('SIGUSR2', onSignal)
}

/** Runs are compared with that time: none could ever be after it. */
function refuseFutureRestore(restoredAt: string | undefined, clock: Clock): void {
  if (restoredAt === undefined || Date.parse(restoredAt) <= clock.now()) return
  throw new CaptError('CAPT_BACKUP_AHEAD', `The restore was at ${restoredAt}, which is in the future by this clock`, {
    hint: 'set the clock of this machine, or correct --restored-at',
  })
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
