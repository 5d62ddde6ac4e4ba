// Runs controllers over one set of informers: changes become keys, keys are reconciled. Work begins when every cache is
// synced; stopping waits for the reconciles in progress.
import { type AnyObject, type Key, type KindRef, keyOf } from '#api'
import type { Change, Events, Informers, Objects } from '#kube'
import { CaptError, type Clock, type Log, type Metrics, messageOf, noMetrics } from '#lib'
import type { AnyController, Wake, World } from './controller.ts'
import { reconcileMetrics } from './queue/metrics.ts'
import { createQueue, type Queue } from './queue/queue.ts'
import { createReconcile } from './reconcile.ts'
import { isClusterKind, warnCluster } from './status/cluster-events.ts'
import { hasSameFilter } from './watch-filter.ts'

export interface RunOptions {
  readonly controllers: readonly AnyController[]
  readonly objects: Objects
  /** Not started yet. Kinds that need a projection are registered by the caller first. */
  readonly informers: Informers
  readonly events: Events
  readonly clock: Clock
  readonly log: Log
  readonly metrics?: Metrics
  /** Concurrent reconciles per controller, for all or by name. */
  readonly concurrency?: number | Readonly<Record<string, number>>
  /** Only objects of this namespace are watched. */
  readonly namespace?: string
  /** Objects for which it returns false are ignored (the watch filter). */
  readonly accepts?: (object: AnyObject) => boolean
  /** Caches fill at once, but nothing is reconciled before this resolves (leadership). */
  readonly elected?: Promise<void>
  /** How long `stop` waits for the reconciles in progress. */
  readonly graceMs?: number
}

export interface Running {
  /** Resolves when every cache is filled; reconciles begin then, or when elected. */
  synced(): Promise<void>
  /** No new reconcile begins; resolves when those in progress have ended or the grace period is over. */
  stop(): Promise<void>
  /** Reconciles one object again: for changes that no watch reports, such as the end of a Terraform run. */
  wake(controllerName: string, key: Key): void
  /** The reconcile that has taken the longest time so far. */
  longest(): { readonly controller: string; readonly key: Key; readonly tookMs: number } | undefined
}

const CONCURRENCY = 4
const GRACE_MS = 20_000

export function runControllers(options: RunOptions): Running {
  const { controllers, informers, clock, log, graceMs = GRACE_MS, metrics = noMetrics } = options
  const clusterKind = controllers.flatMap(watchedKinds).find(isClusterKind)
  const events = clusterKind ? warnCluster(options.events, informers, clusterKind) : options.events
  const world: World = { objects: options.objects, cache: informers, events, clock, log }
  const abort = new AbortController()
  const queues = new Map<string, Queue>()

  for (const controller of controllers) {
    const { name } = controller
    if (queues.has(name)) throw new CaptError('CAPT_CONTROLLER_TWICE', `Two controllers are called ${name}`)
    const queue = createQueue({ name, clock, metrics })
    queues.set(name, queue)
    listen(controller, queue, options)
  }

  const start = (): void => {
    for (const controller of controllers) {
      const queue = queues.get(controller.name)!
      const max = concurrencyOf(options.concurrency, controller.name)
      const numbers = reconcileMetrics(metrics, controller.name, { max, active: () => queue.active })
      const reconcile = createReconcile(controller, world, { accepts: options.accepts })
      queue.start(max, async (key) => {
        const began = clock.monotonic()
        const { again, result, failed = [] } = await reconcile(key, queue.failures(key))
        numbers.ended(result, clock.monotonic() - began)
        numbers.failed(failed)
        return again
      })
    }
    log.info('Started controllers', { controllers: [...queues.keys()] })
  }

  informers.start()
  const filled = informers.synced(abort.signal)
  const begun = Promise.all([filled, options.elected]).then(() => {
    if (!abort.signal.aborted) start()
  })
  // Callers await them; a stop before the sync must not end the process by an unhandled rejection.
  begun.catch(() => undefined)
  const synced = options.elected ? filled : begun
  synced.catch(() => undefined)

  return {
    synced: () => synced.then(() => undefined),
    async stop() {
      abort.abort(new CaptError('CAPT_STOPPED', 'The controllers were stopped before their caches were filled'))
      const left = await Promise.all([...queues.values()].map((queue) => queue.stop(graceMs)))
      const unfinished = left.flat().length
      if (unfinished > 0) log.warn('Stopped with reconciles unfinished', { unfinished })
      await informers.stop()
    },
    longest() {
      const all = [...queues].flatMap(([controller, queue]) => {
        const one = queue.longest()
        return one ? [{ controller, key: one.key, tookMs: clock.monotonic() - one.since }] : []
      })
      return all.toSorted((a, b) => b.tookMs - a.tookMs)[0]
    },
    wake(controllerName, key) {
      queues.get(controllerName)?.add(key)
    },
  }
}

const watchedKinds = ({ kind, wakes }: AnyController): readonly KindRef[] => [kind, ...wakes.map((wake) => wake.kind)]

function listen(controller: AnyController, queue: Queue, options: RunOptions): void {
  const { informers, namespace } = options
  const scope = (kind: { namespaced: boolean }) => (kind.namespaced && namespace ? { namespace } : {})
  informers.register(controller.kind, scope(controller.kind))
  for (const wake of controller.wakes) informers.register(wake.kind, scope(wake.kind))
  for (const { kind, name, values } of controller.indexes ?? []) {
    informers.register(kind, { ...scope(kind), indexes: { [name]: values } })
  }
  informers.onChange(controller.kind, ({ object }) => queue.add(keyOf(object)))
  for (const wake of controller.wakes) {
    informers.onChange(wake.kind, (change) => {
      for (const key of keysOf(wake, change, options, controller.name)) queue.add(key)
    })
  }
}

/** An update may have moved an object from one owner to another: both the old and the new one are woken. */
function keysOf(wake: Wake, change: Change, { informers, log }: RunOptions, controller: string): readonly Key[] {
  try {
    const isSameShard = change.old && hasSameFilter(change.object, change.old)
    if (change.type === 'updated' && isSameShard && wake.ignores?.(change.object, change.old!)) return []
    const before = change.old ? wake.toKeys(change.old, informers) : []
    return [...before, ...wake.toKeys(change.object, informers)]
  } catch (error) {
    log.error('Wake failed', { controller, [wake.kind.kind]: change.object.metadata.name, error: messageOf(error) })
    return []
  }
}

function concurrencyOf(concurrency: RunOptions['concurrency'], name: string): number {
  if (typeof concurrency === 'number') return concurrency
  return concurrency?.[name] ?? CONCURRENCY
}
