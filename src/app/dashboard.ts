// The page in the browser for a user with a kubeconfig: a connection of its own with exactly that user's permissions,
// opened when the first reader comes.
import { hostname, networkInterfaces } from 'node:os'
import { type AccessOptions, connect, loadKubeconfig, type ServerAccess } from '#kube'
import { type Clock, newToken, systemClock } from '#lib'
import { certificateFiles, type Dashboard, isLoopback, openWorld, selfSigned, serveDashboard } from '#server'

interface StartDashboardOptions {
  readonly host: string
  readonly port: number
  readonly allowWrites: boolean
  /** Those that are valid now; one for as long as the page is served when left out. */
  readonly tokens?: () => readonly string[]
  /** Only this namespace; all of them when left out. */
  readonly namespace?: string
  /** Files of a certificate and its key; beyond loopback one is made when they are left out. */
  readonly tls?: { readonly certificate: string; readonly key: string }
  /** Where the API server is. */
  readonly access: AccessOptions | ServerAccess
}

export async function startDashboard(options: StartDashboardOptions): Promise<Dashboard> {
  const { access, host, tls } = options
  const clock = systemClock
  const found = 'server' in access ? access : await loadKubeconfig({ ...access, clock })
  const certificate = tls
    ? certificateFiles(tls.certificate, tls.key)
    : isLoopback(host)
      ? undefined
      : selfMade(host, clock)
  const own = [newToken(24)]
  const stopping = new AbortController()
  let close = async () => {}
  const dashboard = await serveDashboard({
    tokens: () => own,
    ...options,
    clock,
    ...(certificate ? { certificate } : {}),
    async open() {
      const connection = connect(found, { clock, userAgent: 'capt-dashboard' })
      const namespace = options.namespace === undefined ? {} : { namespace: options.namespace }
      try {
        const world = await openWorld(connection, { ...namespace, fallback: found.namespace }, stopping.signal)
        close = () => connection.close()
        return world
      } catch (error) {
        await connection.close()
        throw error
      }
    },
  })
  return {
    ...dashboard,
    async close() {
      stopping.abort()
      await dashboard.close()
      await close()
    },
  }
}

/** For every address that this machine answers under. */
function selfMade(host: string, clock: Clock) {
  const isAny = host === '0.0.0.0' || host === '::'
  const all = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address))
  const addresses = isAny ? all.filter((address) => !address.includes('%')) : []
  const isAddress = /^[\d.]+$|:/.test(host)
  const names = ['localhost', hostname(), ...(isAddress ? [] : [host])]
  return selfSigned(names, [...new Set(['127.0.0.1', ...(isAddress && !isAny ? [host] : []), ...addresses])], clock)
}
