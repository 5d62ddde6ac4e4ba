// Metrics that a test can read back by name and labels.
import type { Labels, Metrics } from '#lib'

export interface CollectingMetrics extends Metrics {
  /** Counter total, gauge value, or the number of observations of a histogram. */
  value(name: string, labels?: Labels): number | undefined
}

export function collectingMetrics(): CollectingMetrics {
  const values = new Map<string, number>()
  const samples = new Map<string, () => number>()
  const id = (name: string, labels: Labels) => `${name}${JSON.stringify(Object.entries(labels).sort())}`
  const raise = (name: string, labels: Labels, by: number) =>
    void values.set(id(name, labels), (values.get(id(name, labels)) ?? 0) + by)
  return {
    counter: ({ name }) => ({ add: (labels, by = 1) => raise(name, labels, by) }),
    gauge: ({ name }) => ({
      set: (labels, value) => void values.set(id(name, labels), value),
      sample: (labels, read) => void samples.set(id(name, labels), read),
      remove(labels) {
        values.delete(id(name, labels))
        samples.delete(id(name, labels))
      },
    }),
    histogram: ({ name }) => ({ observe: (labels) => raise(name, labels, 1) }),
    value: (name, labels = {}) => samples.get(id(name, labels))?.() ?? values.get(id(name, labels)),
  }
}
