// Metrics of kubeconfig refreshes: age and expiry of each token, results of refreshes.
import type { AnyObject } from '#api'
import type { Clock, Metrics } from '#lib'

interface Refreshed {
  readonly owner: AnyObject
  readonly cluster: string
}

interface RefresherMetrics {
  refreshed(subject: Refreshed, atMs: number, expiresAtMs: number): void
  failed(subject: Refreshed): void
  /** A token that was signed earlier, by us or by a manager before us. */
  observed(subject: Refreshed, signedAtMs: number, expiresAtMs: number): void
  forget(subject: Refreshed): void
}

const LABELS = ['namespace', 'cluster']

export function refresherMetrics(metrics: Metrics, clock: Clock): RefresherMetrics {
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
  const labelsOf = ({ owner, cluster }: Refreshed) => ({ namespace: owner.metadata.namespace ?? '', cluster })

  function observed(subject: Refreshed, signedAtMs: number, expiresAtMs: number): void {
    expiry.set(labelsOf(subject), Math.floor(expiresAtMs / 1000))
    age.sample(labelsOf(subject), () => Math.floor((clock.now() - signedAtMs) / 1000))
  }

  return {
    refreshed(subject, atMs, expiresAtMs) {
      observed(subject, atMs, expiresAtMs)
      refreshes.add({ ...labelsOf(subject), result: 'success' })
    },
    failed: (subject) => refreshes.add({ ...labelsOf(subject), result: 'failure' }),
    observed,
    forget(subject) {
      expiry.remove(labelsOf(subject))
      age.remove(labelsOf(subject))
    },
  }
}
