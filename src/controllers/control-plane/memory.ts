// What the control plane controller knows without asking: answers of AWS and of workload clusters, and whose kubeconfig
// is being kept. All of it may be lost; it is found out again when it is needed.
import type { TeardownPhase } from '#addons'
import { type Key, keyText } from '#api'
import type { Clock } from '#lib'
import { hashOf } from '#lib'
import type { Identity } from '../cluster/apply.ts'
import type { KubeconfigKeeper } from './keeper.ts'

export type Answer =
  | { readonly is: 'unknown' }
  | { readonly is: 'yes' }
  | { readonly is: 'no'; readonly message: string; readonly hint: string; readonly retryAfterSeconds: number }

export interface Recollection {
  readonly isKept: boolean
  readonly account: string
  readonly spotRole: Answer
  /** Whether the API server has answered. */
  readonly reached: Answer
  /** `no` after the Secrets could not be made: credentials, outputs or an owner are wrong. */
  readonly secrets: Answer
  /** Whether a deleted Cluster without add-ons has let go of its balancers and nodes. */
  readonly cleared: Answer
  /** The same for its network, after EKS is gone. */
  readonly swept: Answer
}

export interface NotedFault {
  readonly message: string
  readonly hint: string
}

export interface Memory {
  accountOf(namespace: string, region: string | undefined, identity: Identity | undefined): string
  recall(key: Key, source: string, account: string): Recollection
  noteSpotRole(account: string, fault?: NotedFault): void
  noteReached(key: Key, source: string, fault?: NotedFault): void
  noteSecrets(key: Key, source: string, fault?: NotedFault): void
  noteCleared(key: Key, phase: TeardownPhase, waiting?: NotedFault & { readonly retryAfterSeconds: number }): void
  /** The kubeconfig that was just written, for the one look through it that follows; it is not kept beyond that. */
  handOver(key: Key, kubeconfig: string): void
  takeOver(key: Key): string | undefined
  forget(key: Key): void
}

const SPOT_RETRY_MS = 60_000
const REACH_RETRY_MS = 10_000
const SECRETS_RETRY_MS = 30_000

interface Note {
  readonly fault: NotedFault | undefined
  readonly untilMs: number
}
type SourcedNote = Note & { readonly source: string }

export function createMemory(clock: Clock, keeper: KubeconfigKeeper): Memory {
  const spotRoles = new Map<string, Note>()
  const reached = new Map<string, SourcedNote>()
  const secrets = new Map<string, SourcedNote>()
  const cleared = new Map<string, Note>()
  const handed = new Map<string, string>()

  function toAnswer(note: Note | undefined): Answer {
    if (!note) return { is: 'unknown' }
    if (!note.fault) return { is: 'yes' }
    const leftMs = note.untilMs - clock.monotonic()
    if (leftMs <= 0) return { is: 'unknown' }
    return { is: 'no', ...note.fault, retryAfterSeconds: Math.ceil(leftMs / 100) / 10 }
  }

  return {
    // A Secret belongs to a namespace; a role or the process's own identity is the same everywhere.
    accountOf: (namespace, region, identity) =>
      hashOf([identity?.secretRef ? namespace : null, region ?? null, identity ?? null]),
    recall(key, source, account) {
      const about = (notes: Map<string, SourcedNote>): Answer => {
        const note = notes.get(keyText(key))
        return toAnswer(note?.source === source ? note : undefined)
      }
      return {
        isKept: keeper.isKept(key, source),
        account,
        spotRole: toAnswer(spotRoles.get(account)),
        reached: about(reached),
        secrets: about(secrets),
        cleared: toAnswer(cleared.get(`before ${keyText(key)}`)),
        swept: toAnswer(cleared.get(`after ${keyText(key)}`)),
      }
    },
    noteSpotRole(account, fault) {
      spotRoles.set(account, { fault, untilMs: clock.monotonic() + SPOT_RETRY_MS })
    },
    noteReached(key, source, fault) {
      reached.set(keyText(key), { source, fault, untilMs: clock.monotonic() + REACH_RETRY_MS })
    },
    noteSecrets(key, source, fault) {
      secrets.set(keyText(key), { source, fault, untilMs: clock.monotonic() + SECRETS_RETRY_MS })
    },
    noteCleared(key, phase, waiting) {
      const untilMs = clock.monotonic() + (waiting?.retryAfterSeconds ?? 0) * 1000
      const fault = waiting && { message: waiting.message, hint: waiting.hint }
      cleared.set(`${phase} ${keyText(key)}`, { fault, untilMs })
    },
    handOver: (key, kubeconfig) => void handed.set(keyText(key), kubeconfig),
    takeOver(key) {
      const kubeconfig = handed.get(keyText(key))
      handed.delete(keyText(key))
      return kubeconfig
    },
    forget(key) {
      handed.delete(keyText(key))
      reached.delete(keyText(key))
      secrets.delete(keyText(key))
      cleared.delete(`before ${keyText(key)}`)
      cleared.delete(`after ${keyText(key)}`)
      keeper.forget(key)
    },
  }
}
