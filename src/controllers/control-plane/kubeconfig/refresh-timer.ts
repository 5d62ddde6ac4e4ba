// A kubeconfig is refreshed in every phase of a control plane: also while the cluster is paused, and while it is being
// deleted, because the add-ons are removed with it.
import { act, type Decision } from '#runtime'
import type { Observed } from '../observe.ts'

export function decideRefresh({
  kubeconfig,
  results,
}: Observed): Decision<{ readonly do: 'start-refresh' }> | undefined {
  if (!kubeconfig || results.isRefreshing) return undefined
  return act({ do: 'start-refresh' })
}
