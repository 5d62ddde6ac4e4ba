// Builds the real world and hands it to commands and controllers; the only place that wires.
import type { Cloud } from '#doctor'
import type { Objects } from '#kube'
import type { Clock } from '#lib'
import type { Dashboard } from '#server'
import type { BackupReport, BackupRequest, KeyPlace, RestoreRequest } from './backup/backup.ts'
import type { Environment } from './cloud.ts'
import type { StartDashboardOptions } from './dashboard.ts'
import type { Home, HomeOptions } from './home.ts'
import type { OpenSite, SiteOptions } from './karpenter-site.ts'

export { CONFIRM_REMOVAL_ANNOTATION, planWithdrawal, type Withdrawal } from '#controllers'
export { type Manager, startManager } from './manager.ts'
export { type Speculated, speculate } from './speculate.ts'
export type { Home, KeyPlace, OpenSite }

/** Loaded on demand: a manager in a cluster has neither an API server of its own nor a simulation, and little memory. */
export async function startHome(options: HomeOptions): Promise<Home> {
  return await (await import('./home.ts')).startHome(options)
}

/** Loaded on demand: a manager never serves the page. */
export async function startDashboard(options: StartDashboardOptions): Promise<Dashboard> {
  return await (await import('./dashboard.ts')).startDashboard(options)
}

/** Loaded on demand, as the home is. */
export async function backupHome(request: BackupRequest): Promise<BackupReport> {
  return await (await import('./backup/backup.ts')).backupHome(request)
}

export async function restoreHome(request: RestoreRequest) {
  return (await import('./backup/backup.ts')).restoreHome(request)
}

/** Loaded on demand: what people ask of an account is nothing that a manager needs. */
export async function openCloud(objects: Objects, clock: Clock, env: Environment): Promise<Cloud> {
  return (await import('./cloud.ts')).openCloud(objects, clock, env)
}

export async function openRegion(
  clock: Clock,
  env: Environment,
  signal: AbortSignal,
): Promise<ReturnType<typeof import('./cloud.ts').openRegion>> {
  return (await import('./cloud.ts')).openRegion(clock, env, signal)
}

export async function openTagSearch(
  clock: Clock,
  env: Environment,
): Promise<ReturnType<typeof import('./cloud.ts').openTagSearch>> {
  return (await import('./cloud.ts')).openTagSearch(clock, env)
}

export async function openSite(options: SiteOptions): Promise<OpenSite> {
  return await (await import('./karpenter-site.ts')).openSite(options)
}
