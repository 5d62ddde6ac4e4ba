// Builds the real world and hands it to commands and controllers; the only place that wires.
export { CONFIRM_REMOVAL_ANNOTATION, planWithdrawal, type Withdrawal } from '#controllers'
export type { KeyPlace } from './backup/backup.ts'
export type { Home } from './home.ts'
export type { OpenSite } from './karpenter-site.ts'
export { type Manager, startManager } from './manager.ts'
export { type Speculated, speculate } from './speculate.ts'

// Everything below is loaded on demand: a manager in a cluster has neither an API server of its own nor a simulation, never
// serves the page, and has little memory.
type Backup = typeof import('./backup/backup.ts')
type Cloud = typeof import('./cloud.ts')

export const startHome = async (...args: Parameters<typeof import('./home.ts').startHome>) =>
  await (await import('./home.ts')).startHome(...args)

export const startDashboard = async (...args: Parameters<typeof import('./dashboard.ts').startDashboard>) =>
  await (await import('./dashboard.ts')).startDashboard(...args)

export const backupHome = async (...args: Parameters<Backup['backupHome']>) =>
  await (await import('./backup/backup.ts')).backupHome(...args)

export const restoreHome = async (...args: Parameters<Backup['restoreHome']>) =>
  (await import('./backup/backup.ts')).restoreHome(...args)

export const openCloud = async (...args: Parameters<Cloud['openCloud']>) =>
  (await import('./cloud.ts')).openCloud(...args)

export const openRegion = async (...args: Parameters<Cloud['openRegion']>) =>
  (await import('./cloud.ts')).openRegion(...args)

export const openTagSearch = async (...args: Parameters<Cloud['openTagSearch']>) =>
  (await import('./cloud.ts')).openTagSearch(...args)

export const openSite = async (...args: Parameters<typeof import('./karpenter-site.ts').openSite>) =>
  await (await import('./karpenter-site.ts')).openSite(...args)
