// Makes and removes probe pods in a workload cluster. Both may be done twice without harm.
import { PodKind } from '#api'
import { isKubeError, type Writable } from '#kube'
import type { World } from '#runtime'
import type { DeliverySeen } from './delivery-seen.ts'
import type { Observer } from './observe-delivery.ts'
import { probeKey } from './probe.ts'

export async function createProbe(world: World, { ports }: Observer, seen: DeliverySeen, stage: string): Promise<void> {
  const pod = seen.stages.find((one) => one.stage.name === stage)?.probe?.wanted
  const workload = await ports.workloads.open(clusterOf(seen))
  if (!pod || !workload) return
  try {
    await workload.objects.create(PodKind, pod as Writable<typeof pod>)
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists')) throw error
  }
  world.events.emit(seen.delivery, {
    type: 'Normal',
    reason: 'Probing',
    message: `Made Pod ${pod.metadata.name} to see that machines come`,
    action: 'Verify',
  })
}

/** The node it ran on is Karpenter's to consolidate. */
export async function removeProbe({ ports }: Observer, seen: DeliverySeen, stage: string): Promise<void> {
  const workload = await ports.workloads.open(clusterOf(seen))
  await workload?.objects.delete(PodKind, probeKey(stage))
}

const clusterOf = ({ delivery }: DeliverySeen) => ({
  namespace: delivery.metadata.namespace!,
  name: delivery.spec.clusterName,
})
