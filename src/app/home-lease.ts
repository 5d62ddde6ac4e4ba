// Keeps a manager away from an embedded home: a home runs the controllers itself, and a second set would repeat every
// write. The home marks its API with a Lease that names its process; the Lease needs no renewal, for the API ends with it.
import { hostname } from 'node:os'
import { type Lease, LeaseKind } from '#api'
import type { Connection, Objects } from '#kube'
import { CaptError } from '#lib'

const KEY = { namespace: 'default', name: 'capt-home' }

/** Returns how to remove the mark. */
export async function markHome(objects: Objects): Promise<() => Promise<void>> {
  await objects.apply<Lease>(LeaseKind, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: KEY,
    spec: { holderIdentity: `process ${process.pid} on ${hostname()}` },
  })
  return () => objects.delete(LeaseKind, KEY).catch(() => undefined)
}

export async function refuseBesideHome({ objects, client }: Connection): Promise<void> {
  // Only an embedded API server may be a home: the role of a manager in a cluster need not allow to read the mark.
  const { status, text } = await client.raw('/version')
  if (status !== 200 || !text.includes('+capt"')) return
  const lease = await objects.get<Lease>(LeaseKind, KEY)
  if (!lease) return
  throw new CaptError(
    'CAPT_HOME_RUNS_CONTROLLERS',
    `${client.access.server} is the embedded home of capt up (${lease.spec?.holderIdentity ?? 'unknown process'}), which runs the controllers itself`,
    { hint: 'name another management cluster with --kubeconfig or $KUBECONFIG; the home needs no manager' },
  )
}
