// Keeps the kubeconfigs of Cluster API valid. A token lives 15 minutes; each cluster has one timer, in memory, that
// replaces it between the 7th and the 10th. Nothing is polled. A refresh that fails is told (event, metric, annotation,
// which becomes a condition) and tried again soon.
import { type AnyObject, type Key, keyText, kubeconfigSecretName, SecretKind } from '#api'
import type { EksToken } from '#aws'
import { type Events, isKubeError, type Objects } from '#kube'
import { type Clock, type Log, type Metrics, messageOf, redact, shortHash, type Timer } from '#lib'
import { type Server, tokenKubeconfig } from './kubeconfig.ts'
import { REFRESH_ERROR_ANNOTATION, timesOf, toBase64 } from './secrets.ts'

export interface Subject {
  readonly owner: AnyObject
  readonly cluster: string
  /** Changes when anything but the token does. */
  readonly source: string
  readonly server: Server
  /** When the token in the Secret was signed; it decides when the next is due. */
  readonly refreshedAtMs: number
  /** Reads credentials anew each time, so that a rotated Secret is picked up. */
  sign(): Promise<EksToken>
}

export interface KubeconfigKeeper {
  /** Begins or goes on with new inputs. */
  keep(subject: Subject): void
  isKept(key: Key, source: string): boolean
  forget(key: Key): void
  stop(): void
}

export interface KeeperPorts {
  readonly objects: Objects
  readonly events: Events
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

const MINUTE_MS = 60_000
const EARLIEST_MS = 7 * MINUTE_MS
const SPREAD_MS = 3 * MINUTE_MS
const RETRY_MS = [5_000, 10_000, 20_000, 40_000, MINUTE_MS]

interface Duty {
  readonly subject: Subject
  timer: Timer | undefined
  failures: number
}

export function kubeconfigKeeper(ports: KeeperPorts): KubeconfigKeeper {
  const { objects, events, clock, log } = ports
  const duties = new Map<string, Duty>()
  const labels = ['namespace', 'cluster'] as const
  const refreshes = ports.metrics.counter({
    name: 'capt_kubeconfig_refreshes_total',
    about: 'Kubeconfig tokens that were replaced, by result.',
    labels: [...labels, 'result'],
  })
  const expiry = ports.metrics.gauge({
    name: 'capt_kubeconfig_expiry_timestamp_seconds',
    about: 'When the token in the kubeconfig of a cluster stops working.',
    labels,
  })

  function schedule(id: string, duty: Duty, delayMs: number): void {
    duty.timer?.cancel()
    duty.timer = clock.after(delayMs, () => void refresh(id, duty))
  }

  async function refresh(id: string, duty: Duty): Promise<void> {
    const { owner, cluster, server, sign } = duty.subject
    const name = { namespace: owner.metadata.namespace ?? '', cluster }
    try {
      const { token, expiresAtMs } = await sign()
      const annotations = { ...timesOf(clock.now(), expiresAtMs), [REFRESH_ERROR_ANNOTATION]: null }
      await patchSecret(duty.subject, {
        data: { value: toBase64(tokenKubeconfig(server, token)) },
        metadata: { annotations },
      })
      expiry.set(name, Math.floor(expiresAtMs / 1000))
      refreshes.add({ ...name, result: 'success' })
      duty.failures = 0
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return drop(id, duty)
      await tell(duty, name, error)
      duty.failures += 1
    }
    if (duties.get(id) !== duty) return
    schedule(id, duty, duty.failures === 0 ? dueAfter(id) : RETRY_MS[Math.min(duty.failures, RETRY_MS.length) - 1]!)
  }

  /** The Secret is gone: its deletion wakes the control plane, which writes it anew and comes back to us. */
  function drop(id: string, duty: Duty): void {
    if (duties.get(id) === duty) duties.delete(id)
  }

  async function tell(duty: Duty, name: { namespace: string; cluster: string }, error: unknown): Promise<void> {
    const message = redact(messageOf(error))
    refreshes.add({ ...name, result: 'failure' })
    log.warn('Kubeconfig refresh failed', { Cluster: `${name.namespace}/${name.cluster}`, error: message })
    events.emit(duty.subject.owner, {
      type: 'Warning',
      reason: 'KubeconfigRefreshFailed',
      message: `The kubeconfig of ${name.cluster} was not refreshed: ${message}`,
    })
    const metadata = { annotations: { [REFRESH_ERROR_ANNOTATION]: message } }
    // The server may be what failed; the event and the metric have told it already.
    await patchSecret(duty.subject, { metadata }).catch(() => undefined)
  }

  function patchSecret({ owner, cluster }: Subject, body: object): Promise<unknown> {
    const key = { namespace: owner.metadata.namespace ?? '', name: kubeconfigSecretName(cluster) }
    return objects.patch(SecretKind, key, { type: 'merge', body }, { fieldManager: 'capt-kubeconfig' })
  }

  return {
    keep(subject) {
      const { namespace = '', name } = subject.owner.metadata
      const id = keyText({ namespace, name })
      duties.get(id)?.timer?.cancel()
      const duty: Duty = { subject, timer: undefined, failures: 0 }
      duties.set(id, duty)
      const due = subject.refreshedAtMs + dueAfter(id)
      schedule(id, duty, Math.max(0, due - clock.now()))
    },
    isKept: (key, source) => duties.get(keyText(key))?.subject.source === source,
    forget(key) {
      duties.get(keyText(key))?.timer?.cancel()
      duties.delete(keyText(key))
    },
    stop() {
      for (const { timer } of duties.values()) timer?.cancel()
      duties.clear()
    },
  }
}

/** Between 7 and 10 minutes, spread over the clusters and always the same for one. */
function dueAfter(id: string): number {
  const seed = [...shortHash(id)].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 0)
  return EARLIEST_MS + (seed % SPREAD_MS)
}
