// A kubeconfig whose token ends needs its timer, in every part of a control plane's life: also while the cluster is
// being deleted, because the add-ons are removed through it.
import { act, type Decision } from '#runtime'
import type { Observed } from './observe.ts'
import { EXPIRES_ANNOTATION } from './secrets.ts'

export function keepAlive({ kubeconfig, memory }: Observed): Decision<{ readonly do: 'keep-kubeconfig' }> | undefined {
  if (!kubeconfig?.metadata.annotations?.[EXPIRES_ANNOTATION] || memory.isKept) return undefined
  return act({ do: 'keep-kubeconfig' })
}
