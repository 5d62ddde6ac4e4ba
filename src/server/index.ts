// HTTP for people and probes: health, metrics, the page, and the edge that knows where numbers and log lines go.
import type { Connection } from '#kube'
import type { Dashboard, DashboardOptions } from './dashboard/serve.ts'
import type { World } from './dashboard/world.ts'

export { answering, eventLoop, serveHealth, until, withinDeadline } from './health.ts'
export { jsonLog, type LeveledLog, type LogLevel } from './json-log.ts'
export { serveMetrics } from './metrics.ts'
export { prometheusMetrics } from './prometheus.ts'
export { reviewByApiServer } from './review.ts'
export { fromFiles as certificateFiles, isLoopback, selfSigned } from './server-certificate.ts'
export type { Dashboard }

/** The page is loaded on demand: a manager never serves it. */
export async function serveDashboard(options: DashboardOptions): Promise<Dashboard> {
  return await (await import('./dashboard/serve.ts')).serveDashboard(options)
}

export async function openWorld(
  connection: Connection,
  scope: { readonly namespace?: string; readonly fallback: string },
  signal: AbortSignal,
): Promise<World> {
  return await (await import('./dashboard/world.ts')).openWorld(connection, scope, signal)
}
