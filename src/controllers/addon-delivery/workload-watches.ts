// Keeps a watch open on the workload clusters that are making progress, up to a limit: a watch costs memory here and a
// connection there. Clusters beyond the limit are polled.
import { groupKindOf, type Key, type KindRef, keyText } from '#api'
import type { Workload } from '../shared/workload.ts'

export interface WorkloadWatches {
  /** True when the cluster is watched for these kinds from now on. */
  hold(cluster: Key, workload: Workload, kinds: readonly KindRef[], onChange: () => void): boolean
  release(cluster: Key): void
  releaseAll(): void
  readonly open: number
}

export function createWorkloadWatches(limit = 20): WorkloadWatches {
  const held = new Map<string, { readonly kinds: string; readonly close: () => void }>()
  return {
    hold(cluster, workload, kinds, onChange) {
      const id = keyText(cluster)
      const unique = [...new Map(kinds.map((kind) => [groupKindOf(kind), kind])).values()]
      const wanted = unique.map(groupKindOf).sort().join(' ')
      const present = held.get(id)
      if (present?.kinds === wanted) return true
      if (!present && held.size >= limit) return false
      present?.close()
      held.set(id, { kinds: wanted, close: workload.watch(unique, onChange) })
      return true
    },
    release(cluster) {
      const id = keyText(cluster)
      held.get(id)?.close()
      held.delete(id)
    },
    releaseAll() {
      for (const { close } of held.values()) close()
      held.clear()
    },
    get open() {
      return held.size
    },
  }
}
