// Cached results of calls to AWS and to workload clusters, and which kubeconfigs are being refreshed. Everything here
// may be lost at a restart; it is determined again when it is needed.

import { type Key, keyText } from '#api'
import type { Clock } from '#lib'
import { hashOf } from '#lib'
import type { TeardownPhase } from '../addon-delivery/teardown/cluster.ts'
import type { Identity } from '../shared/apply.ts'
import type { KubeconfigRefresher } from './kubeconfig/refresher.ts'

type Result =
  | { readonly is: 'unknown' }
  | { readonly is: 'yes' }
  | { readonly is: 'no'; readonly message: string; readonly hint: string; readonly retryAfterSeconds: number }

export interface CachedResults {
  readonly isRefreshing: boolean
  readonly account: string
  readonly spotRole: Result
  /** Whether the API server has answered. */
  readonly reached: Result
  /** `no` after the Secrets could not be made: credentials, outputs or an owner are wrong. */
  readonly secrets: Result
  /** Whether the load balancers and nodes of a deleted Cluster without add-ons are gone. */
  readonly cleared: Result
  /** The same for its network interfaces and security groups, after EKS is gone. */
  readonly swept: Result
}

interface NotedFault {
  readonly message: string
  readonly hint: string
}

export interface ResultCache {
  accountOf(namespace: string, region: string | undefined, identity: Identity | undefined): string
  read(key: Key, source: string, account: string): CachedResults
  noteSpotRole(account: string, fault?: NotedFault): void
  noteReached(key: Key, source: string, fault?: NotedFault): void
  noteSecrets(key: Key, source: string, fault?: NotedFault): void
  noteCleared(key: Key, phase: TeardownPhase, waiting?: NotedFault & { readonly retryAfterSeconds: number }): void
  /** The kubeconfig that was just written, for the one connection test that follows. */
  putKubeconfig(key: Key, kubeconfig: string): void
  takeKubeconfig(key: Key): string | undefined
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

export function createResultCache(clock: Clock, refresher: KubeconfigRefresher): ResultCache {
  const spotRoles = new Map<string, Note>()
  const reached = new Map<string, SourcedNote>()
  const secrets = new Map<string, SourcedNote>()
  const cleared = new Map<string, Note>()
  const kubeconfigs = new Map<string, string>()

  function toResult(note: Note | undefined): Result {
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
    read(key, source, account) {
      const ofSource = (notes: Map<string, SourcedNote>): Result => {
        const note = notes.get(keyText(key))
        return toResult(note?.source === source ? note : undefined)
      }
      return {
        isRefreshing: refresher.isRefreshing(key, source),
        account,
        spotRole: toResult(spotRoles.get(account)),
        reached: ofSource(reached),
        secrets: ofSource(secrets),
        cleared: toResult(cleared.get(`before ${keyText(key)}`)),
        swept: toResult(cleared.get(`after ${keyText(key)}`)),
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
    putKubeconfig: (key, kubeconfig) => void kubeconfigs.set(keyText(key), kubeconfig),
    takeKubeconfig(key) {
      const kubeconfig = kubeconfigs.get(keyText(key))
      kubeconfigs.delete(keyText(key))
      return kubeconfig
    },
    forget(key) {
      kubeconfigs.delete(keyText(key))
      reached.delete(keyText(key))
      secrets.delete(keyText(key))
      cleared.delete(`before ${keyText(key)}`)
      cleared.delete(`after ${keyText(key)}`)
      refresher.forget(key)
    },
  }
}
