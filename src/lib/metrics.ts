// Metrics of capt itself, as a port: modules count, the edge decides where the numbers go (src/server: Prometheus text).
export type Labels = Readonly<Record<string, string>>

export interface Counter {
  add(labels: Labels, by?: number): void
}

interface Gauge {
  set(labels: Labels, value: number): void
  /** Reads the value whenever metrics are collected; nothing is kept in between. */
  sample(labels: Labels, read: () => number): void
  /** The object it is about is gone. */
  remove(labels: Labels): void
}

interface Histogram {
  observe(labels: Labels, value: number): void
}

export interface MetricDefinition {
  readonly name: string
  /** One sentence for people; it becomes the HELP line. */
  readonly about: string
  readonly labels: readonly string[]
}

/** Asking twice for the same name gives the same metric. */
export interface Metrics {
  counter(definition: MetricDefinition): Counter
  gauge(definition: MetricDefinition): Gauge
  histogram(definition: MetricDefinition & { readonly buckets: readonly number[] }): Histogram
}

export const noMetrics: Metrics = {
  counter: () => ({ add: () => undefined }),
  gauge: () => ({ set: () => undefined, sample: () => undefined, remove: () => undefined }),
  histogram: () => ({ observe: () => undefined }),
}
