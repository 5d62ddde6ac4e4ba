// A way to the API server that can be shut: what a manager meets when the network, or the server, is away. Bytes that had
// not arrived when it shut never arrive.
import { createServer, connect as dial, type Socket } from 'node:net'

export interface Gate {
  readonly url: string
  /** Cuts every connection, and each new one at once. */
  shut(): void
  open(): void
  close(): Promise<void>
}

export async function openGate(port: number): Promise<Gate> {
  const sockets = new Set<Socket>()
  let isShut = false
  const server = createServer((near) => {
    if (isShut) {
      near.destroy()
      return
    }
    const far = dial(port, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => undefined)
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as { port: number }).port}`,
    shut() {
      isShut = true
      cut()
    },
    open() {
      isShut = false
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      cut()
      await closed
    },
  }
}
