// Writes labels of the Cluster that a delivery is for; null removes one.
import { clusterKind } from '#api'
import type { World } from '#runtime'
import { clusterOf } from './names.ts'
import type { Observer } from './observe.ts'
import type { ObservedDelivery } from './observed.ts'

export async function labelCluster(
  world: World,
  { ports }: Observer,
  observed: ObservedDelivery,
  labels: Readonly<Record<string, string | null>>,
): Promise<void> {
  await world.objects.patch(clusterKind(ports.clusterApi), clusterOf(observed.delivery), {
    type: 'merge',
    body: { metadata: { labels } },
  })
}
