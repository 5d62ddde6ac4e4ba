// The lock on a state: the Lease that Terraform's kubernetes backend uses, so that terraform by hand is locked out too.
// Ours says who holds it; it is taken from a holder only when that holder is proven dead. A lock without our mark is a
// person's and is never broken.
import { type Lease, LeaseKind } from '#api'
import { isKubeError, type Objects } from '#kube'
import { CaptError, type Clock } from '#lib'
import { KEEP_FINALIZER, leaseName, suffixOf } from './names.ts'
import { keptMetadata, type Owner } from './owner.ts'
import { type Liveness, livenessOf, type ProcessIdentity } from './processes.ts'
import { backendLabels } from './state/state-store.ts'
import type { ObjectKey } from './workspace.ts'

export const HOLDER_ANNOTATION = 'capt.appthrust.com/holder'
const LOCK_INFO_ANNOTATION = 'app.terraform.io/lock-info'
export const LEASE_SECONDS = 60
export const RENEW_MS = 15_000

export interface LockRequest {
  readonly owner: Owner
  readonly runId: string
  readonly verb: string
  readonly holder: ProcessIdentity
  /** `1.11.4` */
  readonly toolVersion: string
}

export type LockAnswer =
  | { readonly is: 'held'; readonly lock: Lock }
  /** Without our mark. `command` would break it; that is a person's decision. */
  | { readonly is: 'foreign'; readonly who: string; readonly id: string; readonly command: string }
  /** Ours, and its holder is alive or cannot be proven dead. */
  | { readonly is: 'busy'; readonly holder: ProcessIdentity }

export interface Lock {
  renew(): Promise<void>
  release(): Promise<void>
}

/** A lock that somebody took in our name. */
export function lockOf(objects: Objects, clock: Clock, owner: ObjectKey, runId: string): Lock {
  return handleOf(objects, clock, { namespace: owner.namespace, name: leaseName(suffixOf(owner)) }, runId)
}

export async function acquireLock(objects: Objects, clock: Clock, request: LockRequest): Promise<LockAnswer> {
  const { owner } = request
  const key = { namespace: owner.namespace, name: leaseName(suffixOf(owner)) }
  for (let attempt = 0; attempt < 10; attempt++) {
    try {
      const found = await objects.get<Lease>(LeaseKind, key)
      if (!found) {
        await objects.create<Lease>(LeaseKind, toLease(request, clock))
        return { is: 'held', lock: handleOf(objects, clock, key, request.runId) }
      }
      const obstacle = obstacleOf(found, request.runId)
      if (obstacle) return obstacle
      await objects.replace<Lease>(LeaseKind, taken(found, request, clock))
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

export type LockSight =
  | { readonly is: 'free' }
  | { readonly is: 'foreign'; readonly who: string; readonly id: string; readonly command: string }
  | {
      readonly is: 'ours'
      readonly runId: string
      readonly holder: ProcessIdentity
      /** As far as it can be told from this machine. */
      readonly liveness: Liveness
      readonly renewedAt?: string
      readonly command: string
    }

/** Who holds the lock; nothing is changed. */
export async function lookAtLock(objects: Objects, key: ObjectKey): Promise<LockSight> {
  const lease = await objects.get<Lease>(LeaseKind, { namespace: key.namespace, name: leaseName(suffixOf(key)) })
  const id = lease?.spec?.holderIdentity ?? ''
  if (!lease || id === '') return { is: 'free' }
  const holder = holderOf(lease)
  if (!holder) return foreign(lease, id)
  const { renewTime } = lease.spec ?? {}
  const renewed = renewTime === undefined ? {} : { renewedAt: renewTime }
  return { is: 'ours', runId: id, holder, liveness: livenessOf(holder), ...renewed, command: breakCommand(lease) }
}

const isDead = (holder: ProcessIdentity): boolean => livenessOf(holder) === 'dead'

/** Takes a lock of ours away when its holder is proven dead; true when none of ours is left. */
export async function releaseDeadLock(
  objects: Objects,
  key: ObjectKey,
  isProvenDead: (holder: ProcessIdentity) => boolean = isDead,
): Promise<boolean> {
  const leaseKey = { namespace: key.namespace, name: leaseName(suffixOf(key)) }
  const lease = await objects.get<Lease>(LeaseKind, leaseKey)
  const holder = lease && holderOf(lease)
  if (!lease?.spec?.holderIdentity || !holder) return true
  if (!isProvenDead(holder)) return false
  try {
    await objects.patch(LeaseKind, leaseKey, { type: 'merge', body: released(lease.metadata.resourceVersion) })
  } catch (error) {
    if (!isKubeError(error, 'Conflict', 'NotFound')) throw error
  }
  return true
}

export async function deleteLock(objects: Objects, key: ObjectKey): Promise<void> {
  const leaseKey = { namespace: key.namespace, name: leaseName(suffixOf(key)) }
  const lease = await objects.get<Lease>(LeaseKind, leaseKey)
  if (!lease) return
  if (lease.metadata.finalizers?.includes(KEEP_FINALIZER)) {
    const left = lease.metadata.finalizers.filter((one) => one !== KEEP_FINALIZER)
    const body = { metadata: { finalizers: left.length > 0 ? left : null } }
    try {
      await objects.patch(LeaseKind, leaseKey, { type: 'merge', body })
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error
    }
  }
  await objects.delete(LeaseKind, leaseKey)
}

function obstacleOf(lease: Lease, runId: string): LockAnswer | undefined {
  const id = lease.spec?.holderIdentity ?? ''
  if (id === '' || id === runId) return undefined
  const holder = holderOf(lease)
  if (!holder) return foreign(lease, id)
  return livenessOf(holder) === 'dead' ? undefined : { is: 'busy', holder }
}

function foreign(lease: Lease, id: string): LockSight & { readonly is: 'foreign' } {
  const info = parseJson(lease.metadata.annotations?.[LOCK_INFO_ANNOTATION])
  const who = [info['Who'], info['Operation'], info['Created']].filter(
    (part) => typeof part === 'string' && part !== '',
  )
  return {
    is: 'foreign',
    id,
    who: who.length > 0 ? who.join(', ') : `lock id ${id}`,
    command: breakCommand(lease),
  }
}

function breakCommand({ metadata: { namespace, name } }: Lease): string {
  return `kubectl -n ${namespace} patch lease ${name} --type merge -p '{"spec":{"holderIdentity":null}}'`
}

/** A Lease that a person's terraform holds keeps our old annotation; only the lock it belongs to counts. */
function holderOf(lease: Lease): ProcessIdentity | undefined {
  const { lock, ...holder } = parseJson(lease.metadata.annotations?.[HOLDER_ANNOTATION])
  return lock === lease.spec?.holderIdentity && typeof holder['pid'] === 'number'
    ? (holder as unknown as ProcessIdentity)
    : undefined
}

function toLease(request: LockRequest, clock: Clock): Lease {
  const { owner } = request
  const suffix = suffixOf(owner)
  const kept = keptMetadata(owner, leaseName(suffix), 'lock')
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      ...kept,
      labels: { ...kept.labels, ...backendLabels(suffix) },
      annotations: annotationsOf(request, clock),
    },
    spec: specOf(request, clock),
  }
}

function taken(lease: Lease, request: LockRequest, clock: Clock): Lease {
  const { finalizers = [], annotations } = lease.metadata
  return {
    ...lease,
    metadata: {
      ...lease.metadata,
      annotations: { ...annotations, ...annotationsOf(request, clock) },
      finalizers:
        finalizers.includes(KEEP_FINALIZER) || lease.metadata.deletionTimestamp
          ? finalizers
          : [...finalizers, KEEP_FINALIZER],
    },
    spec: { ...lease.spec, ...specOf(request, clock), leaseTransitions: (lease.spec?.leaseTransitions ?? 0) + 1 },
  }
}

function specOf({ runId }: LockRequest, clock: Clock): Lease['spec'] {
  const now = toMicroTime(clock.now())
  return { holderIdentity: runId, leaseDurationSeconds: LEASE_SECONDS, acquireTime: now, renewTime: now }
}

function annotationsOf(request: LockRequest, clock: Clock): Readonly<Record<string, string>> {
  const { owner, runId, verb, holder, toolVersion } = request
  return {
    [HOLDER_ANNOTATION]: JSON.stringify({ ...holder, lock: runId }),
    [LOCK_INFO_ANNOTATION]: JSON.stringify({
      ID: runId,
      Operation: `capt ${verb}`,
      Info: `run ${runId} of WorkspaceTemplateApply ${owner.namespace}/${owner.name}`,
      Who: `capt@${holder.host}`,
      Version: toolVersion,
      Created: new Date(clock.now()).toISOString(),
      Path: '',
    }),
  }
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
      try {
        // The server compares the holder with the one we name: no read is needed first.
        await objects.patch(LeaseKind, key, {
          type: 'json',
          body: [
            { op: 'test', path: '/spec/holderIdentity', value: runId },
            // Nobody moves a Lease: one that is free must go with the apply.
            { op: 'add', path: '/metadata/finalizers', value: [] },
            { op: 'remove', path: '/spec/holderIdentity' },
            { op: 'remove', path: '/metadata/annotations/app.terraform.io~1lock-info' },
            { op: 'remove', path: '/metadata/annotations/capt.appthrust.com~1holder' },
          ],
        })
      } catch (error) {
        if (!isKubeError(error, 'NotFound', 'Invalid', 'Conflict')) throw error
      }
    },
  }
}

/** Nobody can hold one there, nor need to. */
export const NO_LOCK: Lock = { renew: async () => undefined, release: async () => undefined }

function released(resourceVersion: string | undefined) {
  return {
    metadata: {
      resourceVersion,
      finalizers: null,
      annotations: { [HOLDER_ANNOTATION]: null, [LOCK_INFO_ANNOTATION]: null },
    },
    spec: { holderIdentity: null },
  }
}

function parseJson(text: string | undefined): Record<string, unknown> {
  try {
    return (JSON.parse(text ?? '') as Record<string, unknown> | null) ?? {}
  } catch {
    return {}
  }
}

/** metav1.MicroTime. */
function toMicroTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('Z', '000Z')
}
