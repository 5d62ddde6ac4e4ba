// Proves the death of a process that holds a run elsewhere. On this host the process table decides. In Kubernetes a pod
// with a terminal status is dead; one that is gone may still run on a node that is cut off, so its Lease must be silent
// too. Silence is measured on our own clock, from one change of the Lease to the next: clocks of two hosts are not compared.
import { type AnyObject, keyText, type Lease, LeaseKind, PodKind } from '#api'
import { isKubeError, type Objects } from '#kube'
import { type Clock, type Log, messageOf } from '#lib'
import { hasEnded, type PodFacts } from '../job/explain-pod.ts'
import { LEASE_SECONDS } from '../lock/lease.ts'
import { type Liveness, livenessOf, ownIdentity, type PodIdentity, type ProcessIdentity } from '../lock/processes.ts'
import { leaseKey } from '../names.ts'
import type { ObjectKey } from '../workspace.ts'

/** A Lease that does not change for this long is silent. */
const SILENT_MS = LEASE_SECONDS * 1000
/** A pod that is gone counts as dead after three lease durations without a change. */
const PROOF_MS = 3 * SILENT_MS

/** What the API says about the pod of a holder. `unknown`: it may not be read, or belongs to another cluster. */
type PodState = 'running' | 'ended' | 'gone' | 'unknown'

export interface Evidence {
  readonly process: Liveness
  readonly pod: PodState
  /** It is our own pod: its container was started again. */
  readonly isOwnPod: boolean
  /** For how long the Lease has not changed while we looked. */
  readonly silentMs: number
}

/** `waiting`: it is alive, or its death will be proven by more silence. */
export function decideHolder({ process, pod, isOwnPod, silentMs }: Evidence): Liveness | 'waiting' {
  if (process !== 'unknown') return process
  if (pod === 'ended') return 'dead'
  // A container is not started again before its predecessor has ended.
  if (pod === 'gone' || (pod === 'running' && isOwnPod)) return silentMs >= PROOF_MS ? 'dead' : 'waiting'
  return silentMs >= SILENT_MS ? 'unknown' : 'waiting'
}

export interface HolderLiveness {
  of(key: ObjectKey, who: ProcessIdentity): Promise<Liveness | 'waiting'>
  /** Whether `of` has proven the death of exactly this process. */
  isProvenDead(key: ObjectKey, who: ProcessIdentity): boolean
  /** The Lease as it is observed on our clock: milliseconds without a change; undefined when it cannot be read. */
  silence(key: ObjectKey): Promise<number | undefined>
  forget(key: ObjectKey): void
}

interface Observed {
  readonly renewal: string
  readonly sinceMs: number
  dead?: string
}

export function observeHolders(options: {
  readonly objects: Objects
  readonly clock: Clock
  readonly log: Log
  /** Where the pods of runs are, beside our own. */
  readonly runNamespace?: string
}): HolderLiveness {
  const { objects, clock, log, runNamespace } = options
  const observed = new Map<string, Observed>()

  const silence = async (key: ObjectKey): Promise<Observed> => {
    const id = keyText(key)
    const lease = await objects.get<Lease>(LeaseKind, leaseKey(key))
    const { holderIdentity = '', renewTime = '' } = lease?.spec ?? {}
    const renewal = `${holderIdentity} ${renewTime}`
    const before = observed.get(id)
    if (before?.renewal === renewal) return before
    const now = { renewal, sinceMs: clock.monotonic() }
    observed.set(id, now)
    return now
  }

  const stateOf = async (pod: PodIdentity | undefined): Promise<PodState> => {
    const own = ownIdentity().pod
    // Only pods of our own namespace and of that of the runs are read: that is all that our roles allow.
    if (!pod || ![own?.namespace, runNamespace].includes(pod.namespace)) return 'unknown'
    try {
      const { namespace, name } = pod
      const found = await objects.get<AnyObject & PodFacts>(PodKind, { namespace, name })
      if (found?.metadata.uid !== pod.uid) return 'gone'
      return hasEnded(found) ? 'ended' : 'running'
    } catch (error) {
      if (!isKubeError(error, 'Forbidden')) throw error
      log.warn('The pod of a runner may not be read', { pod: `${pod.namespace}/${pod.name}`, error: messageOf(error) })
      return 'unknown'
    }
  }

  return {
    async of(key, who) {
      const process = livenessOf(who)
      if (process !== 'unknown') return process
      const lease = await silence(key)
      if (lease.dead === textOf(who)) return 'dead'
      const answer = decideHolder({
        process,
        pod: await stateOf(who.pod),
        isOwnPod: who.pod !== undefined && who.pod.uid === ownIdentity().pod?.uid,
        silentMs: clock.monotonic() - lease.sinceMs,
      })
      if (answer === 'dead') lease.dead = textOf(who)
      return answer
    },
    isProvenDead: (key, who) => livenessOf(who) === 'dead' || observed.get(keyText(key))?.dead === textOf(who),
    async silence(key) {
      try {
        return clock.monotonic() - (await silence(key)).sinceMs
      } catch {
        return undefined
      }
    },
    forget: (key) => void observed.delete(keyText(key)),
  }
}

const textOf = ({ pid, start, host, boot, space, pod }: ProcessIdentity): string =>
  JSON.stringify([pid, start, host, boot, space, pod?.uid ?? ''])
