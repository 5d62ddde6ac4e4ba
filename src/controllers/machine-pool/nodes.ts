// The Nodes of a node group, as the workload cluster has them. Read by label, a page at a time; nothing is kept.
import { hasTrueCondition, type Key, NodeKind, type UnknownObject } from '#api'
import { isPlainObject, messageOf, redact } from '#lib'
import type { Workloads } from '../shared/workload.ts'

const NODE_GROUP_LABEL = 'eks.amazonaws.com/nodegroup'

export type GroupNodes =
  | {
      readonly is: 'known'
      /** Sorted. */
      readonly providerIds: readonly string[]
      readonly count: number
      readonly ready: number
    }
  | { readonly is: 'unread' }
  | { readonly is: 'unreachable'; readonly message: string }

export async function readGroupNodes(workloads: Workloads, cluster: Key, group: string): Promise<GroupNodes> {
  try {
    const workload = await workloads.open(cluster)
    if (!workload) return { is: 'unreachable', message: 'the cluster has no kubeconfig' }
    const providerIds: string[] = []
    let count = 0
    let ready = 0
    const labelSelector = `${NODE_GROUP_LABEL}=${group}`
    for await (const node of workload.objects.list<UnknownObject>(NodeKind, { labelSelector })) {
      if (node.metadata.deletionTimestamp) continue
      count++
      const { spec, status } = node
      const id = isPlainObject(spec) ? spec['providerID'] : undefined
      if (typeof id === 'string' && id !== '') providerIds.push(id)
      if (isPlainObject(status) && hasTrueCondition(status['conditions'], 'Ready')) ready++
    }
    return { is: 'known', providerIds: providerIds.sort(), count, ready }
  } catch (error) {
    return { is: 'unreachable', message: redact(messageOf(error)) }
  }
}
