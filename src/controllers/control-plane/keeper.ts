// Keeps the kubeconfigs of Cluster API valid. A token lives 15 minutes; each cluster has one timer, in memory, that
// replaces it between the 7th and the 10th, and has the Secrets looked at where nobody watches them. A refresh that
// fails is told (event, metric, annotation, which becomes a condition) and tried again soon.
import { type AnyObject, type Key, keyOf, keyText, kubeconfigSecretName, SecretKind } from '#api'
import type { EksToken } from '#aws'
import { type Events, isKubeError, type Objects } from '#kube'
import { type Clock, type Log, type Metrics, messageOf, redact, shortHash, type Timer } from '#lib'
import { keeperMetrics } from './keeper-metrics.ts'
import { type Server, tokenKubeconfig } from './kubeconfig.ts'
import { CONTENT_ANNOTATION, contentOf, REFRESH_ERROR_ANNOTATION, timesOf, toBase64 } from './secrets.ts'

export interface Subject {
  readonly owner: AnyObject
  readonly cluster: string
  /** Changes when anything but the token does. */
  readonly source: string
  /** Absent when the kubeconfig does not end. */
  readonly token?: TokenDuty
}

export interface TokenDuty {
  readonly server: Server
  /** When the token in the Secret was signed; it decides when the next is due. */
  readonly refreshedAtMs: number
  /** When it stops working, where that is known. */
  readonly expiresAtMs: number | undefined
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
  /** Has the Secrets of a control plane read again; absent where a watch tells that they changed. */
  readonly lookAgain: ((plane: Key) => void) | undefined
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
  const { objects, events, clock, log, lookAgain } = ports
  const duties = new Map<string, Duty>()
  const numbers = keeperMetrics(ports.metrics, clock)

  function schedule(id: string, duty: Duty, delayMs: number): void {
    duty.timer?.cancel()
    duty.timer = clock.after(delayMs, () => void work(id, duty))
  }

  async function work(id: string, duty: Duty): Promise<void> {
    const isThere = await refresh(duty)
    if (duties.get(id) !== duty) return
    // A Secret that is gone is written anew by the control plane, which then comes back to us.
    if (isThere) schedule(id, duty, duty.failures === 0 ? dueAfter(id) : retryAfter(duty.failures))
    else duties.delete(id)
    lookAgain?.(keyOf(duty.subject.owner))
  }

  /** False when the Secret is gone. */
  async function refresh(duty: Duty): Promise<boolean> {
    const { subject } = duty
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
      numbers.refreshed(subject, clock.now(), expiresAtMs)
      duty.failures = 0
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return false
      await tell(subject, error)
      duty.failures += 1
    }
    return true
  }

  async function tell(subject: Subject, error: unknown): Promise<void> {
    const { owner, cluster } = subject
    const message = redact(messageOf(error))
    numbers.failed(subject)
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
    // The server may be what failed; the event and the metric have told it already.
    await patchSecret(subject, { metadata }).catch(() => undefined)
  }

  function patchSecret({ owner, cluster }: Subject, body: object): Promise<unknown> {
    const key = { namespace: owner.metadata.namespace ?? '', name: kubeconfigSecretName(cluster) }
    return objects.patch(SecretKind, key, { type: 'merge', body }, { fieldManager: 'capt-kubeconfig' })
  }

  return {
    keep(subject) {
      const id = keyText(keyOf(subject.owner))
      duties.get(id)?.timer?.cancel()
      const duty: Duty = { subject, timer: undefined, failures: 0 }
      duties.set(id, duty)
      const { refreshedAtMs = clock.now(), expiresAtMs } = subject.token ?? {}
      if (expiresAtMs !== undefined) numbers.found(subject, refreshedAtMs, expiresAtMs)
      if (subject.token || lookAgain) schedule(id, duty, Math.max(0, refreshedAtMs + dueAfter(id) - clock.now()))
    },
    isKept: (key, source) => duties.get(keyText(key))?.subject.source === source,
    forget(key) {
      const duty = duties.get(keyText(key))
      if (!duty) return
      duty.timer?.cancel()
      duties.delete(keyText(key))
      numbers.forget(duty.subject)
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

function retryAfter(failures: number): number {
  return RETRY_MS[Math.min(failures, RETRY_MS.length) - 1]!
}
