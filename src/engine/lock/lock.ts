// The lock on a state: the Lease that Terraform's kubernetes backend uses, so that terraform by hand is locked out too.
// Ours names its holder; it is taken from a holder only when that holder is proven dead. A lock without our annotation is a
// person's and is never broken.
import { randomUUID } from 'node:crypto'
import { type Lease, LeaseKind } from '#api'
import { ignore, isKubeError, type Objects } from '#kube'
import { CaptError, type Clock } from '#lib'
import { leaseKey } from '../names.ts'
import type { Owner } from '../owner.ts'
import type { ObjectKey } from '../workspace.ts'
import {
  breakCommand,
  type ForeignLock,
  foreignLock,
  holderOf,
  type LockRequest,
  lostRunIn,
  releasedLease,
  takenLease,
  toLease,
  toMicroTime,
} from './lease.ts'
import { type Liveness, livenessOf, ownIdentity, type ProcessIdentity } from './processes.ts'

export const RENEW_MS = 15_000

type LockAnswer =
  | { readonly is: 'held'; readonly lock: Lock }
  | ForeignLock
  /** Ours, and its holder is alive or cannot be proven dead. */
  | { readonly is: 'busy'; readonly holder: ProcessIdentity }

export interface Lock {
  renew(): Promise<void>
  release(): Promise<void>
}

/** A lock that the manager took for this run. */
export function lockOf(objects: Objects, clock: Clock, owner: ObjectKey, runId: string): Lock {
  return handleOf(objects, clock, leaseKey(owner), runId)
}

export async function acquireLock(objects: Objects, clock: Clock, request: LockRequest): Promise<LockAnswer> {
  const { owner } = request
  const key = leaseKey(owner)
  for (let attempt = 0; attempt < 10; attempt++) {
    try {
      const found = await objects.get<Lease>(LeaseKind, key)
      if (!found) {
        await objects.create<Lease>(LeaseKind, toLease(request, clock))
        return { is: 'held', lock: handleOf(objects, clock, key, request.runId) }
      }
      const obstacle = obstacleOf(found, request.runId)
      if (obstacle) return obstacle
      await objects.replace<Lease>(LeaseKind, takenLease(found, request, clock))
      return { is: 'held', lock: handleOf(objects, clock, key, request.runId) }
    } catch (error) {
      // Nobody can make a Lease there any more, so nobody can hold one: the record alone decides.
      if (isKubeError(error, 'NamespaceTerminating')) return { is: 'held', lock: NO_LOCK }
      if (!isKubeError(error, 'Conflict', 'AlreadyExists', 'NotFound')) throw error
    }
  }
  throw new CaptError('CAPT_CONTENDED', `Lease ${key.namespace}/${key.name} keeps changing`, {
    hint: 'the next attempt tries again',
  })
}

/** For what a person asks for, outside of any run. */
export async function lockState(objects: Objects, clock: Clock, owner: Owner, verb: string): Promise<Lock> {
  const request = { owner, runId: randomUUID(), verb, holder: ownIdentity(), toolVersion: '' }
  const answer = await acquireLock(objects, clock, request)
  if (answer.is === 'held') return answer.lock
  throw stateInUse(owner, answer.is === 'foreign' ? answer.who : `a run on ${answer.holder.host}`)
}

export const stateInUse = ({ namespace, name }: ObjectKey, who: string): CaptError =>
  new CaptError('CAPT_STATE_LOCKED', `the state of ${namespace}/${name} is in use by ${who}`, {
    hint: `wait for it, or stop it: capt cancel ${name}`,
  })

export type ObservedLock =
  /** `lostRun`: it was taken from this run, whose holder had died. */
  | { readonly is: 'free'; readonly lostRun?: string }
  | ForeignLock
  | {
      readonly is: 'ours'
      readonly runId: string
      readonly holder: ProcessIdentity
      /** As far as it can be found out on this machine. */
      readonly liveness: Liveness
      readonly renewedAt?: string
      readonly command: string
    }

/** Who holds the lock; nothing is changed. */
export async function observeLock(objects: Objects, key: ObjectKey): Promise<ObservedLock> {
  const lease = await objects.get<Lease>(LeaseKind, leaseKey(key))
  const id = lease?.spec?.holderIdentity ?? ''
  const lostRun = lease && lostRunIn(lease)
  if (!lease || id === '') return { is: 'free', ...(lostRun === undefined ? {} : { lostRun }) }
  const holder = holderOf(lease)
  if (!holder) return foreignLock(lease, id)
  const { renewTime } = lease.spec ?? {}
  const renewed = renewTime === undefined ? {} : { renewedAt: renewTime }
  return { is: 'ours', runId: id, holder, liveness: livenessOf(holder), ...renewed, command: breakCommand(lease) }
}

/** The run of ours that has not released the lock: it is on, or was lost. */
export function unreleasedRun(lock: ObservedLock): string | undefined {
  if (lock.is === 'ours') return lock.runId
  return lock.is === 'free' ? lock.lostRun : undefined
}

/** Whether this run holds the lock according to the API server. */
export async function isHolder(objects: Objects, key: ObjectKey, runId: string): Promise<boolean> {
  const lease = await objects.get<Lease>(LeaseKind, leaseKey(key))
  return lease?.spec?.holderIdentity === runId
}

const isDead = (holder: ProcessIdentity): boolean => livenessOf(holder) === 'dead'

/** Takes a lock of ours away when its holder is proven dead or needs it no longer; true when none of ours is left. */
export async function releaseDeadLock(
  objects: Objects,
  key: ObjectKey,
  isOver: (holder: ProcessIdentity, runId: string) => boolean = isDead,
): Promise<boolean> {
  const lease = await objects.get<Lease>(LeaseKind, leaseKey(key))
  const holder = lease && holderOf(lease)
  if (!lease?.spec?.holderIdentity || !holder) return true
  if (!isOver(holder, lease.spec.holderIdentity)) return false
  await objects
    .patch(LeaseKind, leaseKey(key), { type: 'merge', body: releasedLease(lease) })
    .catch(ignore('Conflict', 'NotFound'))
  return true
}

function obstacleOf(lease: Lease, runId: string): LockAnswer | undefined {
  const id = lease.spec?.holderIdentity ?? ''
  if (id === '' || id === runId) return undefined
  const holder = holderOf(lease)
  if (!holder) return foreignLock(lease, id)
  return livenessOf(holder) === 'dead' ? undefined : { is: 'busy', holder }
}

function handleOf(objects: Objects, clock: Clock, key: ObjectKey, runId: string): Lock {
  const isOurs = async () => {
    const lease = await objects.get<Lease>(LeaseKind, key)
    return lease?.spec?.holderIdentity === runId ? lease : undefined
  }
  return {
    async renew() {
      const lease = await isOurs()
      if (!lease) {
        throw new CaptError(
          'CAPT_LOCK_LOST',
          `somebody took the lock ${key.namespace}/${key.name} while a run held it`,
          {
            hint: 'a person may have forced it; let this run end before anything else is started',
          },
        )
      }
      const body = {
        metadata: { resourceVersion: lease.metadata.resourceVersion },
        spec: { renewTime: toMicroTime(clock.now()) },
      }
      await objects.patch(LeaseKind, key, { type: 'merge', body })
    },
    async release() {
      const body = [
        // The server compares the holder with the one we name: no read is needed first.
        { op: 'test', path: '/spec/holderIdentity', value: runId },
        // Nobody moves a Lease: one that is free must go with the apply.
        { op: 'add', path: '/metadata/finalizers', value: [] },
        { op: 'remove', path: '/spec/holderIdentity' },
        { op: 'remove', path: '/metadata/annotations/app.terraform.io~1lock-info' },
        { op: 'remove', path: '/metadata/annotations/capt.appthrust.com~1holder' },
      ]
      await objects.patch(LeaseKind, key, { type: 'json', body }).catch(ignore('NotFound', 'Invalid', 'Conflict'))
    },
  }
}

/** Nobody can hold one there, nor need to. */
export const NO_LOCK: Lock = { renew: async () => undefined, release: async () => undefined }
