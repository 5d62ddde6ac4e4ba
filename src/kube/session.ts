// What a command holds while it talks to one API server: the objects, the namespace of its context, and plain reads. The
// connection is closed with the command.
import { systemClock } from '#lib'
import { type Server, serverOf } from './client/discovery.ts'
import { connect } from './connect.ts'
import { loadKubeconfig } from './kubeconfig/kubeconfig.ts'
import type { Objects } from './port.ts'

/** `namespace` is the one of the context, or of the flag. */
export interface Connected extends Server {
  readonly objects: Objects
  readonly namespace: string
  close(): Promise<void>
}

export interface SessionOptions {
  readonly kubeconfig?: string
  readonly context?: string
  readonly namespace?: string
}

export async function openSession(
  options: SessionOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Connected> {
  const access = await loadKubeconfig({
    ...(options.kubeconfig === undefined ? {} : { path: options.kubeconfig }),
    ...(options.context === undefined ? {} : { context: options.context }),
    env,
    clock: systemClock,
  })
  const connection = connect(access, { fieldManager: 'capt-cli' })
  return {
    ...serverOf(connection.client),
    objects: connection.objects,
    namespace: options.namespace ?? access.namespace,
    close: () => connection.close(),
  }
}
