// How a test calls a command between two management clusters in memory, and reads what it printed.
import type { KindRef } from '#api'
import type { Io } from '#cli'
import type { Connected } from '#kube'
import type { ClusterWorld } from './world.ts'

function connected(world: ClusterWorld, server: string): Connected {
  return {
    objects: world.cluster.others,
    namespace: 'default',
    server,
    raw: async (path) =>
      path === '/apis/cluster.x-k8s.io'
        ? { status: 200, body: JSON.stringify({ versions: [{ version: 'v1beta2' }, { version: 'v1beta1' }] }) }
        : { status: 404, body: '' },
    close: async () => undefined,
  }
}

export function ioFor(
  from: ClusterWorld,
  to?: ClusterWorld,
): Io & { readonly text: () => string; readonly said: () => string } {
  let text = ''
  let said = ''
  const sink = (write: (more: string) => void) => ({ write, isTerminal: false, columns: 80 })
  const io: Io = {
    stdout: sink((more) => {
      text += more
    }),
    stderr: sink((more) => {
      said += more
    }),
    stdin: (async function* () {})(),
    env: {},
    cwd: '/',
    clock: from.clock,
    signal: new AbortController().signal,
    colour: false,
    connect: async ({ kubeconfig: file }) =>
      file === undefined ? connected(from, 'https://here') : connected(to!, 'https://there'),
  }
  return Object.assign(io, { text: () => text, said: () => said })
}

/** Arguments of `capt move`. */
export const moveFlags = (over: Record<string, string | boolean> = {}) => ({
  values: { 'to-kubeconfig': 'mgmt.yaml', wait: '10m', yes: true, ...over },
  positionals: [],
})
export const namesOf = (world: ClusterWorld, kind: KindRef) =>
  world.cluster.storage
    .list(kind)
    .map(({ metadata }) => metadata.name)
    .sort()
