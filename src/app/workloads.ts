// Opens workload clusters by the kubeconfig Secret that Cluster API knows. A connection lives as long as its Secret's
// content; watches keep nothing but names, because they only report that something changed.

import { type AnyObject, type Key, type KindRef, keyText, type Secret, SecretKind } from '#api'
import type { Workload, Workloads } from '#controllers'
import { type Client, connect, createClient, type Objects, readKubeconfigText, type ServerAccess } from '#kube'
import { type Clock, sha256 } from '#lib'

const BURST_MS = 100
/** A manager has hundreds of workload clusters: it asks each seldom, and a connection takes some 80 KB (docs/adr/0008). */
const POOL = { mostSockets: 1, idleMs: 250 }
const BACKOFF_MS = [200, 5_000] as const

interface Open {
  readonly hash: string
  /** When the Secret was last read, on the monotonic clock. */
  readAtMs: number
  readonly access: ServerAccess
  readonly client: Client
}

export interface WorkloadConnections extends Workloads {
  close(): void
}

/** `guard` stands before every write to a workload cluster. */
export function openWorkloads(
  objects: Objects,
  clock: Clock,
  guard: (objects: Objects) => Objects = (unguarded) => unguarded,
): WorkloadConnections {
  const connections = new Map<string, Open>()

  async function open(cluster: Key, maxAgeSeconds = 0): Promise<Workload | undefined> {
    const known = connections.get(keyText(cluster))
    if (known && clock.monotonic() - known.readAtMs < maxAgeSeconds * 1000) return workloadOf(known)
    const name = `${cluster.name}-kubeconfig`
    const secret = await objects.get<Secret>(SecretKind, { ...cluster, name })
    const value = secret?.data?.['value']
    const before = connections.get(keyText(cluster))
    if (value === undefined) {
      forget(cluster)
      return undefined
    }
    const hash = sha256(value)
    const readAtMs = clock.monotonic()
    if (before?.hash === hash) {
      before.readAtMs = readAtMs
      return workloadOf(before)
    }
    before?.client.close()
    const origin = `Secret ${keyText({ ...cluster, name })}`
    const access = await readKubeconfigText(Buffer.from(value, 'base64').toString('utf8'), { origin, clock })
    const opened: Open = { hash, readAtMs, access, client: createClient(access, { clock, pool: POOL }) }
    connections.set(keyText(cluster), opened)
    return workloadOf(opened)
  }

  function forget(cluster: Key): void {
    connections.get(keyText(cluster))?.client.close()
    connections.delete(keyText(cluster))
  }

  const workloadOf = ({ access, client }: Open): Workload => ({
    objects: guard(client),
    watch: (kinds, onChange) => watchNames(access, kinds, onChange, clock),
  })

  return {
    open,
    close() {
      for (const { client } of connections.values()) client.close()
      connections.clear()
    },
  }
}

function watchNames(access: ServerAccess, kinds: readonly KindRef[], onChange: () => void, clock: Clock): () => void {
  const connection = connect(access, { clock, backoffMs: BACKOFF_MS, onWarning: () => notify() })
  let pending = false
  let ended = false
  const notify = (): void => {
    if (pending || ended) return
    pending = true
    clock.after(BURST_MS, () => {
      pending = false
      if (!ended) onChange()
    })
  }
  for (const kind of kinds) {
    connection.informers.register(kind, {
      project: ({ apiVersion, kind: word, metadata }): AnyObject => ({
        apiVersion,
        kind: word,
        metadata: {
          name: metadata.name,
          ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
          uid: metadata.uid,
          resourceVersion: metadata.resourceVersion,
        } as AnyObject['metadata'],
      }),
    })
    connection.informers.onChange(kind, notify)
  }
  connection.informers.start()
  return () => {
    ended = true
    void connection.close()
  }
}
