// A kubeconfig needs its timer in every part of a control plane's life: also while the cluster is paused, and while it
// is being deleted, because the add-ons are removed through it.
import { act, type Decision } from '#runtime'
import type { Observed } from './observe.ts'

export function keepAlive({ kubeconfig, memory }: Observed): Decision<{ readonly do: 'keep-kubeconfig' }> | undefined {
  if (!kubeconfig || memory.isKept) return undefined
  return act({ do: 'keep-kubeconfig' })
}
