// Watches the order in which add-ons reach a workload cluster.
import { DeploymentKind, keyText } from '#api'
import type { MemoryCluster } from '#testing'
import { conditionStatus } from './world.ts'

/** Sentences about everything of Karpenter that reached the workload while Flux did not run. */
export function watchOrder(workload: MemoryCluster): readonly string[] {
  const early: string[] = []
  const isUp = (name: string) =>
    conditionStatus(workload.peek(DeploymentKind, { namespace: 'flux-system', name }), 'Available') === 'True'
  workload.storage.onEvent(({ type, kind, object }) => {
    const isKarpenters = object.metadata.name === 'karpenter' || /^(NodePool|EC2NodeClass)$/.test(kind.kind)
    if (type === 'ADDED' && isKarpenters && !(isUp('source-controller') && isUp('helm-controller')))
      early.push(`${kind.kind} ${keyText({ name: object.metadata.name })}`)
  })
  return early
}
