// One connection to one API server: live objects, informers that contain our own writes at once, and the bare client.

import { createInformers, type InformersOptions, type WriteThroughInformers } from './cache/informers.ts'
import type { ServerAccess } from './client/access.ts'
import { type Client, type ClientOptions, createClient } from './client/client.ts'
import type { Objects } from './port.ts'

export interface ConnectOptions extends Omit<ClientOptions, 'onWritten'>, InformersOptions {}

export interface Connection {
  readonly objects: Objects
  readonly informers: WriteThroughInformers
  readonly client: Client
  /** Stops the informers and closes every socket. */
  close(): Promise<void>
}

export function connect(access: ServerAccess, options: ConnectOptions = {}): Connection {
  const client: Client = createClient(access, {
    ...options,
    onWritten: (...written) => informers.written(...written),
  })
  const informers = createInformers(client, options)
  return {
    objects: client,
    informers,
    client,
    async close() {
      await informers.stop()
      client.close()
    },
  }
}
