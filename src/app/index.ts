// Builds the real world and hands it to commands and controllers; the only place that wires.
import type { Dashboard } from '#server'
import type { BackupReport, BackupRequest, KeyPlace, RestoreRequest } from './backup/backup.ts'
import type { StartDashboardOptions } from './dashboard.ts'
import type { Home, HomeOptions } from './home.ts'

export { openCloud, openRegion, openTagSearch } from './cloud.ts'
export { type OpenSite, openSite } from './karpenter-site.ts'
export { type Manager, startManager } from './manager.ts'
export { type Speculated, speculate } from './speculate.ts'
export type { Home, KeyPlace }

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
