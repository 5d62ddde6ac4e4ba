// The Lease behind a lock, as Terraform's kubernetes backend writes it, with an annotation that names our holder.
import type { Lease } from '#api'
import type { Clock } from '#lib'
import { KEEP_FINALIZER, leaseName, suffixOf } from '../names.ts'
import { keptMetadata, type Owner } from '../owner.ts'
import { backendLabels } from '../state/state-store.ts'
import type { ProcessIdentity } from './processes.ts'

export const HOLDER_ANNOTATION = 'capt.appthrust.com/holder'
const LOCK_INFO_ANNOTATION = 'app.terraform.io/lock-info'
/** On a free Lease: the run whose holder died with it. One that was released in order has none. */
const LOST_RUN_ANNOTATION = 'capt.appthrust.com/lost-run'
export const LEASE_SECONDS = 60

export interface LockRequest {
  readonly owner: Owner
  readonly runId: string
  readonly verb: string
  readonly holder: ProcessIdentity
  /** `1.11.4` */
  readonly toolVersion: string
}

/** Held without our annotation. `command` would break it; that is a person's decision. */
export interface ForeignLock {
  readonly is: 'foreign'
  readonly who: string
  readonly id: string
  readonly command: string
}

export function foreignLock(lease: Lease, id: string): ForeignLock {
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

export function breakCommand({ metadata: { namespace, name } }: Lease): string {
  return `kubectl -n ${namespace} patch lease ${name} --type merge -p '{"spec":{"holderIdentity":null}}'`
}

/** A Lease that a person's terraform holds keeps our old annotation; only the lock it belongs to counts. */
export function holderOf(lease: Lease): ProcessIdentity | undefined {
  const { lock, ...holder } = parseJson(lease.metadata.annotations?.[HOLDER_ANNOTATION])
  return lock === lease.spec?.holderIdentity && typeof holder['pid'] === 'number'
    ? (holder as unknown as ProcessIdentity)
    : undefined
}

/** A Lease that does not exist yet, held by this request. */
export function toLease(request: LockRequest, clock: Clock): Lease {
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

/** The Lease that was found, held by this request from now on. */
export function takenLease(lease: Lease, request: LockRequest, clock: Clock): Lease {
  const { finalizers = [], annotations: { [LOST_RUN_ANNOTATION]: _taken, ...annotations } = {} } = lease.metadata
  const isComplete = finalizers.includes(KEEP_FINALIZER) || request.owner.checks !== undefined
  return {
    ...lease,
    metadata: {
      ...lease.metadata,
      annotations: { ...annotations, ...annotationsOf(request, clock) },
      finalizers: isComplete || lease.metadata.deletionTimestamp ? finalizers : [...finalizers, KEEP_FINALIZER],
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

/** A merge patch that frees the Lease of a dead holder if it is still this version. */
export function releasedLease({ metadata, spec }: Lease) {
  return {
    metadata: {
      resourceVersion: metadata.resourceVersion,
      finalizers: null,
      annotations: {
        [HOLDER_ANNOTATION]: null,
        [LOCK_INFO_ANNOTATION]: null,
        [LOST_RUN_ANNOTATION]: spec?.holderIdentity ?? null,
      },
    },
    spec: { holderIdentity: null },
  }
}

/** The run whose holder died with this Lease, when it was freed since then. */
export function lostRunIn({ metadata }: Lease): string | undefined {
  return metadata.annotations?.[LOST_RUN_ANNOTATION]
}

function parseJson(text: string | undefined): Record<string, unknown> {
  try {
    return (JSON.parse(text ?? '') as Record<string, unknown> | null) ?? {}
  } catch {
    return {}
  }
}

/** metav1.MicroTime. */
export function toMicroTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('Z', '000Z')
}
