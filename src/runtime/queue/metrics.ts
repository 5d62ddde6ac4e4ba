// Metrics of a queue and of its reconciles, under the names of controller-runtime.
import type { Metrics } from '#lib'

const QUEUE_SECONDS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000]
const RECONCILE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const QUEUE_LABELS = ['name', 'controller']

interface QueueState {
  depth(): number
  startedAt(): readonly number[]
  now(): number
}

interface QueueMetrics {
  added(): void
  retried(): void
  taken(waitedMs: number): void
  worked(tookMs: number): void
}

export function queueMetrics(metrics: Metrics, name: string, state: QueueState): QueueMetrics {
  const labels = { name, controller: name }
  const of = (metric: string, about: string) => ({ name: metric, about, labels: QUEUE_LABELS })
  const adds = metrics.counter(of('workqueue_adds_total', 'Keys added to the queue.'))
  const retries = metrics.counter(of('workqueue_retries_total', 'Keys that were retried after a failed reconcile.'))
  const waited = metrics.histogram({
    ...of('workqueue_queue_duration_seconds', 'Time a key stays in the queue before it is reconciled.'),
    buckets: QUEUE_SECONDS,
  })
  const worked = metrics.histogram({
    ...of('workqueue_work_duration_seconds', 'Time a reconcile takes.'),
    buckets: QUEUE_SECONDS,
  })
  const ages = () => state.startedAt().map((since) => (state.now() - since) / 1000)
  const sample = (metric: string, about: string, read: () => number) =>
    metrics.gauge(of(metric, about)).sample(labels, read)
  sample('workqueue_depth', 'Keys waiting to be reconciled.', state.depth)
  sample('workqueue_unfinished_work_seconds', 'Time spent so far in reconciles that have not ended.', () =>
    ages().reduce((sum, age) => sum + age, 0),
  )
  sample('workqueue_longest_running_processor_seconds', 'Time spent in the longest reconcile that has not ended.', () =>
    Math.max(0, ...ages()),
  )
  return {
    added: () => adds.add(labels),
    retried: () => retries.add(labels),
    taken: (ms) => waited.observe(labels, ms / 1000),
    worked: (ms) => worked.observe(labels, ms / 1000),
  }
}

export type ReconcileResult = 'success' | 'error' | 'requeue' | 'requeue_after'

interface ReconcileMetrics {
  ended(result: ReconcileResult, tookMs: number): void
  /** Attempts whose failure was reported, by class. */
  failed(classes: readonly string[]): void
}

export function reconcileMetrics(
  metrics: Metrics,
  controller: string,
  workers: { max: number; active(): number },
): ReconcileMetrics {
  const labels = { controller }
  const of = (name: string, about: string) => ({ name, about, labels: ['controller'] })
  const total = metrics.counter({
    name: 'controller_runtime_reconcile_total',
    about: 'Reconciles by result.',
    labels: ['controller', 'result'],
  })
  const failed = metrics.counter({
    name: 'capt_failed_attempts_total',
    about: 'Attempts that failed, by class: each has left a Warning on its object.',
    labels: ['controller', 'class'],
  })
  const errors = metrics.counter(of('controller_runtime_reconcile_errors_total', 'Reconciles that failed.'))
  const seconds = metrics.histogram({
    ...of('controller_runtime_reconcile_time_seconds', 'Time a reconcile takes.'),
    buckets: RECONCILE_SECONDS,
  })
  metrics
    .gauge(of('controller_runtime_max_concurrent_reconciles', 'Reconciles that may run at once.'))
    .set(labels, workers.max)
  metrics.gauge(of('controller_runtime_active_workers', 'Reconciles that run now.')).sample(labels, workers.active)
  return {
    ended(result, tookMs) {
      total.add({ controller, result })
      if (result === 'error') errors.add(labels)
      seconds.observe(labels, tookMs / 1000)
    },
    failed(classes) {
      for (const one of classes) failed.add({ controller, class: one })
    },
  }
}
