// How many machines a set makes, and which it removes. Pure.
import { shortHash } from '#lib'

/** What the decisions about replicas know of one CAPTMachine. */
export interface MachineFacts {
  readonly name: string
  readonly uid: string
  readonly createdAt: string
  readonly isDeleting: boolean
  /** Its run stopped and needs a person. */
  readonly isFailed: boolean
  /** The instance exists. */
  readonly isProvisioned: boolean
  /** Its Node is healthy. */
  readonly isReady: boolean
  /** Its Node has been healthy for long enough. */
  readonly isAvailable: boolean
  /** A person asked that it goes first. */
  readonly isMarked: boolean
}

export interface ReplicaRequest {
  readonly wanted: number
  readonly machines: readonly MachineFacts[]
  readonly policy: 'Oldest' | 'Newest' | 'Random'
  /** How many available machines may go now. Undefined: any number. */
  readonly spare: number | undefined
}

interface ReplicaChange {
  readonly create: number
  readonly remove: readonly MachineFacts[]
  /** Machines that are too many and stay, because their replacement is not available yet. */
  readonly withheld: number
}

/** Instances of one set that are made at the same time; the engine has its own limits for runs. */
export const MOST_AT_ONCE = 20

export function decideReplicas({ wanted, machines, policy, spare }: ReplicaRequest): ReplicaChange {
  const active = machines.filter(({ isDeleting }) => !isDeleting)
  const excess = active.length - wanted
  if (excess <= 0) {
    const inProgress = active.filter(({ isProvisioned, isFailed }) => !isProvisioned && !isFailed).length
    return { create: Math.max(0, Math.min(-excess, MOST_AT_ONCE - inProgress)), remove: [], withheld: 0 }
  }
  const chosen = inDeletionOrder(active, policy).slice(0, excess)
  let left = spare ?? Number.POSITIVE_INFINITY
  const remove = chosen.filter(({ isAvailable }) => !isAvailable || left-- > 0)
  return { create: 0, remove, withheld: chosen.length - remove.length }
}

/** Marked by a person, then failed, then not ready, then not available; equals by the policy. */
function inDeletionOrder(machines: readonly MachineFacts[], policy: ReplicaRequest['policy']): readonly MachineFacts[] {
  const rank = ({ isMarked, isFailed, isReady, isAvailable }: MachineFacts): number =>
    isMarked ? 0 : isFailed ? 1 : !isReady ? 2 : !isAvailable ? 3 : 4
  const byAge = (a: MachineFacts, b: MachineFacts): number =>
    compare(a.createdAt, b.createdAt) || compare(a.name, b.name)
  const byPolicy = (a: MachineFacts, b: MachineFacts): number => {
    if (policy === 'Random') return compare(shortHash(a.uid), shortHash(b.uid))
    return policy === 'Oldest' ? byAge(a, b) : byAge(b, a)
  }
  return machines.toSorted((a, b) => rank(a) - rank(b) || byPolicy(a, b))
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
