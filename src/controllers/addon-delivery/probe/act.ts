// Creates and deletes probe pods in a workload cluster. Both are idempotent.
import { type AnyObject, PodKind } from '#api'
import { ignore, type Writable } from '#kube'
import type { World } from '#runtime'
import { clusterOf } from '../names.ts'
import type { Observer } from '../observe.ts'
import type { ObservedDelivery } from '../observed.ts'
import { probeKey } from './probe.ts'

export async function createProbe(
  world: World,
  { ports }: Observer,
  observed: ObservedDelivery,
  pod: AnyObject,
): Promise<void> {
  const workload = await ports.workloads.open(clusterOf(observed.delivery))
  if (!workload) return
  await workload.objects.create(PodKind, pod as Writable<typeof pod>).catch(ignore('AlreadyExists'))
  world.events.emit(observed.delivery, {
    type: 'Normal',
    reason: 'Probing',
    message: `Made Pod ${pod.metadata.name} to see that machines come`,
    action: 'Verify',
  })
}

/** The node it ran on is Karpenter's to consolidate. */
export async function removeProbe({ ports }: Observer, observed: ObservedDelivery, stage: string): Promise<void> {
  const workload = await ports.workloads.open(clusterOf(observed.delivery))
  await workload?.objects.delete(PodKind, probeKey(stage))
}
