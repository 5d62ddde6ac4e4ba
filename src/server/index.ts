// HTTP for people and probes: health, metrics, and the edge that knows where numbers and log lines go.
export type { Listening } from './closing.ts'
export { type Check, type HealthOptions, serveHealth, until } from './health.ts'
export { jsonLog, type LogLevel } from './json-log.ts'
export { type MetricsOptions, serveMetrics } from './metrics.ts'
export { type PrometheusMetrics, prometheusMetrics } from './prometheus.ts'
export { type Review, reviewByApiServer, type Verdict } from './review.ts'
export { type CertificateSource, fromFiles, selfSigned } from './server-certificate.ts'
