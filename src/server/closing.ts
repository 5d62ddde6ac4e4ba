// Closing a server without cutting anybody off in the middle of an answer, and without waiting for ever.
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '#lib'

export interface Listening {
  readonly port: number
  /** Stops listening; answers under way may end within `graceMs`. */
  close(graceMs?: number): Promise<void>
}

export async function listen(
  server: Server,
  address: { host: string; port: number },
  clock: Clock,
): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(address.port, address.host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: (graceMs = 2000) =>
      new Promise((resolve) => {
        const cut = clock.after(graceMs, () => server.closeAllConnections())
        server.close(() => {
          cut.cancel()
          resolve()
        })
        server.closeIdleConnections()
      }),
  }
}
