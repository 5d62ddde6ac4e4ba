// A TCP proxy on loopback that can be cut: nothing passes and nobody is refused, as behind a broken network.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Proxy {
  readonly port: number
  /** Open connections fall silent, new ones are accepted and get no answer. */
  cut(): void
  /** Silent connections are reset: a client that waits retries and gets through. */
  heal(): void
  close(): Promise<void>
}

export async function startProxy(target: number): Promise<Proxy> {
  const pairs = new Set<readonly [Socket, Socket | undefined]>()
  let isCut = false
  const server = createServer((inner) => {
    inner.on('error', () => undefined)
    const outer = isCut ? undefined : connect(target, '127.0.0.1')
    const pair = [inner, outer] as const
    pairs.add(pair)
    inner.on('close', () => {
      outer?.destroy()
      pairs.delete(pair)
    })
    outer?.on('error', () => inner.destroy())
    outer?.on('close', () => inner.destroy())
    if (outer) inner.pipe(outer).pipe(inner)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true
      for (const [inner, outer] of pairs) {
        inner.unpipe()
        outer?.unpipe()
        inner.pause()
        outer?.pause()
      }
    },
    heal() {
      isCut = false
      for (const [inner] of pairs) inner.destroy()
    },
    async close() {
      for (const [inner] of pairs) inner.destroy()
      server.close()
    },
  }
}
