// Connections for people's commands: the kubeconfig they point at, one client, closed with the command.
import { connect, loadKubeconfig } from '#kube'
import { systemClock } from '#lib'
import type { Connected } from './cli/command.ts'

export interface ConnectionWish {
  readonly kubeconfig?: string
  readonly context?: string
  readonly namespace?: string
}

export async function connectForPeople(
  wish: ConnectionWish,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Connected> {
  const access = await loadKubeconfig({
    ...(wish.kubeconfig === undefined ? {} : { path: wish.kubeconfig }),
    ...(wish.context === undefined ? {} : { context: wish.context }),
    env,
    clock: systemClock,
  })
  const connection = connect(access, { fieldManager: 'capt-cli' })
  return {
    objects: connection.objects,
    namespace: wish.namespace ?? access.namespace,
    server: access.server,
    async raw(path, accept = 'application/json') {
      const { status, text } = await connection.client.raw(path, { headers: { accept } })
      return { status, body: text }
    },
    close: () => connection.close(),
  }
}
