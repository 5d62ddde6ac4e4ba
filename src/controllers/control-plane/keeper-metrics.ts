// The numbers of the kubeconfigs that are kept: how old a token is, when it stops working, how refreshes end.
import type { AnyObject } from '#api'
import type { Clock, Metrics } from '#lib'

interface Kept {
  readonly owner: AnyObject
  readonly cluster: string
}

export interface KeeperMetrics {
  refreshed(kept: Kept, atMs: number, expiresAtMs: number): void
  failed(kept: Kept): void
  /** A token that was signed earlier, by us or by a manager before us. */
  found(kept: Kept, signedAtMs: number, expiresAtMs: number): void
  forget(kept: Kept): void
}

const LABELS = ['namespace', 'cluster']

export function keeperMetrics(metrics: Metrics, clock: Clock): KeeperMetrics {
  const refreshes = metrics.counter({
    name: 'capt_kubeconfig_refreshes_total',
    about: 'Kubeconfig tokens that were replaced, by result.',
    labels: [...LABELS, 'result'],
  })
  const expiry = metrics.gauge({
    name: 'capt_kubeconfig_expiry_timestamp_seconds',
    about: 'When the token in the kubeconfig of a cluster stops working.',
    labels: LABELS,
  })
  const age = metrics.gauge({
    name: 'capt_kubeconfig_age_seconds',
    about: 'Time since the token in the kubeconfig of a cluster was signed.',
    labels: LABELS,
  })
  const labelsOf = ({ owner, cluster }: Kept) => ({ namespace: owner.metadata.namespace ?? '', cluster })

  function found(kept: Kept, signedAtMs: number, expiresAtMs: number): void {
    expiry.set(labelsOf(kept), Math.floor(expiresAtMs / 1000))
    age.sample(labelsOf(kept), () => Math.floor((clock.now() - signedAtMs) / 1000))
  }

  return {
    refreshed(kept, atMs, expiresAtMs) {
      found(kept, atMs, expiresAtMs)
      refreshes.add({ ...labelsOf(kept), result: 'success' })
    },
    failed: (kept) => refreshes.add({ ...labelsOf(kept), result: 'failure' }),
    found,
    forget(kept) {
      expiry.remove(labelsOf(kept))
      age.remove(labelsOf(kept))
    },
  }
}
