// The last moment before a request leaves: a new connection takes its time, and as long as it likes when the process is
// stopped meanwhile, so whoever may be overtaken is asked when the connection is there and not before.
import type { ClientRequest } from 'node:http'

/** Carries what the permit threw past those who translate faults of the network. */
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
