// Our metrics in Prometheus' words. The only file that knows prom-client.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Labels, MetricDefinition, Metrics } from '#lib'

export interface PrometheusMetrics extends Metrics {
  readonly contentType: string
  text(): Promise<string>
}

/** `processMetrics`: also the usual process_ and nodejs_ numbers. */
export function prometheusMetrics(options: { readonly processMetrics?: boolean } = {}): PrometheusMetrics {
  const registry = new Registry()
  if (options.processMetrics ?? true) collectDefaultMetrics({ register: registry })
  const known = new Map<string, unknown>()

  function once<T>(kind: string, definition: MetricDefinition, make: () => T): T {
    const id = `${kind} ${definition.name}`
    if (!known.has(id)) known.set(id, make())
    return known.get(id) as T
  }
  const config = ({ name, about, labels }: MetricDefinition) => ({
    name,
    help: about,
    labelNames: labels,
    registers: [registry],
  })

  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    counter: (definition) =>
      once('counter', definition, () => {
        const counter = new Counter(config(definition))
        return { add: (labels, by = 1) => counter.inc({ ...labels }, by) }
      }),
    gauge: (definition) =>
      once('gauge', definition, () => {
        const samples = new Map<string, { labels: Labels; read: () => number }>()
        const gauge = new Gauge({
          ...config(definition),
          collect() {
            for (const { labels, read } of samples.values()) this.set({ ...labels }, read())
          },
        })
        return {
          set: (labels, value) => gauge.set({ ...labels }, value),
          sample: (labels, read) => void samples.set(JSON.stringify(labels), { labels, read }),
          remove(labels) {
            samples.delete(JSON.stringify(labels))
            gauge.remove({ ...labels })
          },
        }
      }),
    histogram: (definition) =>
      once('histogram', definition, () => {
        const histogram = new Histogram({ ...config(definition), buckets: [...definition.buckets] })
        return { observe: (labels, value) => histogram.observe({ ...labels }, value) }
      }),
  }
}
