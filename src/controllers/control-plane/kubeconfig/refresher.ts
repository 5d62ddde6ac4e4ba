// Keeps the kubeconfigs of Cluster API valid. A token lives 15 minutes; one timer per cluster replaces it between the
// 7th and the 10th minute, and has the Secrets read again where they are not watched. A failed refresh is reported
// (event, metric, and an annotation that becomes a condition) and retried with backoff.
import { type AnyObject, type Key, keyOf, keyText, kubeconfigSecretName, SecretKind } from '#api'
import type { EksToken } from '#aws'
import { type Events, isKubeError, type Objects } from '#kube'
import { type Clock, type Log, type Metrics, messageOf, redact, shortHash, type Timer } from '#lib'
import { type Server, tokenKubeconfig } from './kubeconfig.ts'
import { refresherMetrics } from './refresher-metrics.ts'
import { CONTENT_ANNOTATION, contentOf, REFRESH_ERROR_ANNOTATION, timesOf, toBase64 } from './secrets.ts'

export interface Subject {
  readonly owner: AnyObject
  readonly cluster: string
  /** Changes when anything but the token does. */
  readonly source: string
  /** Absent when the kubeconfig does not expire. */
  readonly token?: TokenSource
}

export interface TokenSource {
  readonly server: Server
  /** When the token in the Secret was signed; the next refresh is due relative to this time. */
  readonly refreshedAtMs: number
  /** When it stops working, where that is known. */
  readonly expiresAtMs: number | undefined
  /** Reads the credentials on every call, so that a rotated Secret takes effect. */
  sign(): Promise<EksToken>
}

export interface KubeconfigRefresher {
  /** Starts the timer of a control plane, or replaces its inputs. */
  start(subject: Subject): void
  isRefreshing(key: Key, source: string): boolean
  forget(key: Key): void
  stop(): void
}

interface RefresherPorts {
  readonly objects: Objects
  readonly events: Events
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Requests another read of the Secrets of a control plane; absent where they are watched. */
  readonly recheck: ((plane: Key) => void) | undefined
}

const MINUTE_MS = 60_000
const EARLIEST_MS = 7 * MINUTE_MS
const SPREAD_MS = 3 * MINUTE_MS
const RETRY_MS = [5_000, 10_000, 20_000, 40_000, MINUTE_MS]

interface Entry {
  readonly subject: Subject
  timer: Timer | undefined
  failures: number
}

export function kubeconfigRefresher(ports: RefresherPorts): KubeconfigRefresher {
  const { objects, events, clock, log, recheck } = ports
  const entries = new Map<string, Entry>()
  const metrics = refresherMetrics(ports.metrics, clock)

  function schedule(id: string, entry: Entry, delayMs: number): void {
    entry.timer?.cancel()
    entry.timer = clock.after(delayMs, () => void work(id, entry))
  }

  async function work(id: string, entry: Entry): Promise<void> {
    const isThere = await refresh(entry)
    if (entries.get(id) !== entry) return
    // A deleted Secret is written again by the control plane controller, which then calls `start`.
    if (isThere) schedule(id, entry, entry.failures === 0 ? dueAfter(id) : retryAfter(entry.failures))
    else entries.delete(id)
    recheck?.(keyOf(entry.subject.owner))
  }

  /** False when the Secret is gone. */
  async function refresh(entry: Entry): Promise<boolean> {
    const { subject } = entry
    if (!subject.token) return true
    try {
      const { token, expiresAtMs } = await subject.token.sign()
      const data = { value: toBase64(tokenKubeconfig(subject.token.server, token)) }
      const annotations = {
        ...timesOf(clock.now(), expiresAtMs),
        [CONTENT_ANNOTATION]: contentOf(data),
        [REFRESH_ERROR_ANNOTATION]: null,
      }
      await patchSecret(subject, { data, metadata: { annotations } })
      metrics.refreshed(subject, clock.now(), expiresAtMs)
      entry.failures = 0
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return false
      await reportFailure(subject, error)
      entry.failures += 1
    }
    return true
  }

  async function reportFailure(subject: Subject, error: unknown): Promise<void> {
    const { owner, cluster } = subject
    const message = redact(messageOf(error))
    metrics.failed(subject)
    log.warn('Kubeconfig refresh failed', {
      Cluster: keyText({ namespace: owner.metadata.namespace ?? '', name: cluster }),
      error: message,
    })
    events.emit(owner, {
      type: 'Warning',
      reason: 'KubeconfigRefreshFailed',
      message: `The kubeconfig of ${cluster} was not refreshed: ${message}`,
    })
    const metadata = { annotations: { [REFRESH_ERROR_ANNOTATION]: message } }
    // The API server may be the cause; the event and the metric have reported the failure already.
    await patchSecret(subject, { metadata }).catch(() => undefined)
  }

  function patchSecret({ owner, cluster }: Subject, body: object): Promise<unknown> {
    const key = { namespace: owner.metadata.namespace ?? '', name: kubeconfigSecretName(cluster) }
    return objects.patch(SecretKind, key, { type: 'merge', body }, { fieldManager: 'capt-kubeconfig' })
  }

  return {
    start(subject) {
      const id = keyText(keyOf(subject.owner))
      entries.get(id)?.timer?.cancel()
      const entry: Entry = { subject, timer: undefined, failures: 0 }
      entries.set(id, entry)
      const { refreshedAtMs = clock.now(), expiresAtMs } = subject.token ?? {}
      if (expiresAtMs !== undefined) metrics.observed(subject, refreshedAtMs, expiresAtMs)
      if (subject.token || recheck) schedule(id, entry, Math.max(0, refreshedAtMs + dueAfter(id) - clock.now()))
    },
    isRefreshing: (key, source) => entries.get(keyText(key))?.subject.source === source,
    forget(key) {
      const entry = entries.get(keyText(key))
      if (!entry) return
      entry.timer?.cancel()
      entries.delete(keyText(key))
      metrics.forget(entry.subject)
    },
    stop() {
      for (const { timer } of entries.values()) timer?.cancel()
      entries.clear()
    },
  }
}

/** Between 7 and 10 minutes, spread over the clusters and always the same for one. */
function dueAfter(id: string): number {
  const seed = [...shortHash(id)].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 0)
  return EARLIEST_MS + (seed % SPREAD_MS)
}

function retryAfter(failures: number): number {
  return RETRY_MS[Math.min(failures, RETRY_MS.length) - 1]!
}
