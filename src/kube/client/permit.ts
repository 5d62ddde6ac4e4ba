// The last check before a request is sent. Opening a connection may take long, above all when the process is paused, so
// leadership is checked when the connection is open and not before.
import type { ClientRequest } from 'node:http'

/** Wraps what the permit threw, so that it is not translated into a network fault. */
export class NotPermitted extends Error {
  constructor(cause: unknown) {
    super('the request may not be sent any more', { cause })
  }
}

export function sendPermitted(wire: ClientRequest, secure: boolean, permit: () => void, body?: string): void {
  const send = () => {
    try {
      permit()
    } catch (error) {
      wire.destroy(new NotPermitted(error))
      return
    }
    wire.end(body)
  }
  wire.on('socket', (socket) => {
    if (wire.reusedSocket) send()
    else socket.once(secure ? 'secureConnect' : 'connect', send)
  })
}
