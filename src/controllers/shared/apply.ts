// The WorkspaceTemplateApply behind a CAPTCluster or CAPTControlPlane: the request that is written, and the state that
// is read. Only the fields of the request are owned (server-side apply); fields that people add stay.
import {
  type AnyObject,
  APPLY_FINALIZER,
  BLOCK_MOVE_ANNOTATION,
  type CAPTCluster,
  CLUSTER_NAME_LABEL,
  findCondition,
  keyOf,
  type ObjectRef,
  type OwnerReference,
  WorkspaceTemplateApply,
} from '#api'
import type { Objects, Projected } from '#kube'
import { hashOf, isPlainObject, type Json, jsonEqual, ownValue } from '#lib'
import { controllerOf, type Decision, isOwnedBy, ownerReference, stalled, waiting } from '#runtime'
import { waysOut } from './ways-out.ts'

export type Identity = NonNullable<CAPTCluster['spec']['identity']>

/** The spec of the request. Absent fields may be set by others. */
export interface ApplySpec {
  readonly templateRef: ObjectRef
  /** Text for `${key}` in the template, and Terraform variables. */
  readonly variables: Readonly<Record<string, string>>
  /** Terraform variables that are not text. */
  readonly values: { readonly [name: string]: Json }
  readonly writeConnectionSecretToRef: { readonly name: string; readonly namespace: string }
  readonly waitForWorkspaces?: readonly ObjectRef[]
  readonly retainWorkspaceOnDelete?: true
  readonly timeout?: string
  readonly credentialsRef?: ObjectRef
}

export interface ApplyRequest {
  readonly name: string
  readonly namespace: string
  readonly cluster: string
  readonly owner: AnyObject
  readonly spec: ApplySpec
}

/** Hash of the request as it was last written: detects that a field was removed from the request. */
export const REQUEST_HASH_ANNOTATION = 'capt.appthrust.com/wanted'
/** On an apply that outlives its cluster. */
const RETAINED_LABEL = 'capt.appthrust.com/retained'

export type ApplyState =
  | { readonly is: 'absent' }
  | {
      readonly is: 'progressing'
      readonly message: string
      /** Creation time, while the apply has no status. */
      readonly silentSince?: string
    }
  | { readonly is: 'failed'; readonly message: string; readonly hint: string; readonly timedOut: boolean }
  | { readonly is: 'applied' }

export interface ApplyFacts {
  readonly state: ApplyState
  readonly deleting: boolean
  /** A run is on, so the object must not be moved. */
  readonly running: boolean
  /** Outputs of the last run that succeeded, also while the next one is on. */
  readonly outputs: { readonly [name: string]: Json }
  /** Hash of the inputs last applied. */
  readonly revision: string | undefined
  /** Changes with every run that ended well, also when its inputs were the same. */
  readonly appliedAt: string | undefined
  readonly phase: string | undefined
  readonly failure: string | undefined
}

export function readApply(apply: WorkspaceTemplateApply | undefined): ApplyFacts {
  if (!apply)
    return {
      state: { is: 'absent' },
      deleting: false,
      running: false,
      outputs: {},
      revision: undefined,
      appliedAt: undefined,
      phase: undefined,
      failure: undefined,
    }
  const { status } = apply
  return {
    state: stateOf(apply),
    deleting: apply.metadata.deletionTimestamp !== undefined,
    running: isRunning(apply),
    outputs: status?.outputs ?? {},
    revision: status?.appliedHash,
    appliedAt: status?.lastAppliedTime,
    phase: status?.phase,
    failure: status?.lastError && textOf(status.lastError),
  }
}

/** Watch predicate: ignores the progress of a run and the block-move annotation. */
export function isSameApply(now: AnyObject, before: AnyObject): boolean {
  const relevant = (object: AnyObject) => {
    const { generation, deletionTimestamp, labels, ownerReferences, annotations } = object.metadata
    const { [BLOCK_MOVE_ANNOTATION]: _move, ...notes } = annotations ?? {}
    const facts = readApply(object as WorkspaceTemplateApply)
    return { generation, deletionTimestamp, labels, ownerReferences, notes, facts }
  }
  return jsonEqual(relevant(now), relevant(before))
}

function stateOf(apply: WorkspaceTemplateApply): ApplyState {
  const ready = conditionNow(apply, 'Ready')
  if (ready?.status === 'True') return { is: 'applied' }
  const error = apply.status?.lastError
  const stalled = conditionNow(apply, 'Stalled')
  if (stalled?.status === 'True')
    return {
      is: 'failed',
      message: error ? textOf(error) : stalled.message,
      hint: hintOf(apply, error?.hint ?? `capt retry ${apply.metadata.name}`),
      timedOut: error?.kind === 'deadline',
    }
  const { name, creationTimestamp } = apply.metadata
  const message = `${name}: ${ready?.message ? ready.message : 'waiting for its first report'}`
  if (apply.status?.conditions || creationTimestamp === undefined) return { is: 'progressing', message }
  return { is: 'progressing', message, silentSince: creationTimestamp }
}

/** For a stopped deletion the owner lists every way out, as the apply does. */
function hintOf(apply: WorkspaceTemplateApply, hint: string): string {
  return apply.metadata.deletionTimestamp === undefined ? hint : waysOut(apply, hint)
}

/** The condition of the current generation; one of an older generation does not count. */
function conditionNow(apply: WorkspaceTemplateApply, type: string) {
  const raw = apply.status?.conditions?.find((condition) => condition.type === type)
  if (raw?.observedGeneration !== undefined && raw.observedGeneration !== apply.metadata.generation) return undefined
  return findCondition(apply.status?.conditions, type)
}

const ENDED: readonly string[] = ['Succeeded', 'Planned', 'Failed', 'Cancelled', 'Lost']

function isRunning(apply: WorkspaceTemplateApply): boolean {
  const phase = apply.status?.run?.phase
  return phase !== undefined && !ENDED.includes(phase)
}

function textOf(error: { readonly address?: string; readonly message?: string }): string {
  return error.address ? `${error.address}: ${error.message ?? ''}` : (error.message ?? '')
}

/** The controller that owns an object, unless it is `owner` itself. */
export function foreignOwner(object: Pick<AnyObject, 'metadata'>, owner: AnyObject): OwnerReference | undefined {
  const controller = controllerOf(object)
  return controller && controller.uid !== owner.metadata.uid ? controller : undefined
}

/** Why the request cannot be written: the apply of its name is being deleted, or is not ours. */
export function refuseApply(
  apply: Projected<WorkspaceTemplateApply> | undefined,
  { name, owner }: ApplyRequest,
  reasons: { readonly deleting: string; readonly taken: string; readonly hint: string },
): Decision<never> | undefined {
  if (apply?.metadata.deletionTimestamp)
    return waiting(reasons.deleting, `${name} is being deleted; it is made again when it is gone`)
  const foreign = apply && foreignOwner(apply, owner)
  if (!foreign) return undefined
  const message = `WorkspaceTemplateApply ${name} belongs to ${foreign.kind} ${foreign.name}`
  return stalled(reasons.taken, message, reasons.hint)
}

export function toApply({ name, namespace, cluster, owner, spec }: ApplyRequest): AnyObject & { spec: ApplySpec } {
  return {
    apiVersion: WorkspaceTemplateApply.apiVersion,
    kind: WorkspaceTemplateApply.kind,
    metadata: {
      name,
      namespace,
      labels: { [CLUSTER_NAME_LABEL]: cluster },
      // A new request starts a run: finalizer and block-move are set with the first write.
      annotations: { [REQUEST_HASH_ANNOTATION]: hashOf(spec), [BLOCK_MOVE_ANNOTATION]: 'true' },
      finalizers: [APPLY_FINALIZER],
      ownerReferences: [ownerReference(owner, { controller: true, blockOwnerDeletion: true })],
    },
    spec,
  }
}

/** Whether the fields of the request are set as requested, so that no write is needed. */
export function isUpToDate(current: Projected<WorkspaceTemplateApply> | undefined, request: ApplyRequest): boolean {
  if (!current) return false
  const { metadata, spec } = toApply(request)
  return (
    current.metadata.annotations?.[REQUEST_HASH_ANNOTATION] === metadata.annotations?.[REQUEST_HASH_ANNOTATION] &&
    contains(current.spec, spec) &&
    contains(current.metadata.labels ?? {}, metadata.labels ?? {}) &&
    isOwnedBy(current, request.owner)
  )
}

function contains(value: unknown, wanted: unknown): boolean {
  if (!isPlainObject(wanted)) return jsonEqual(value, wanted)
  if (!isPlainObject(value)) return Object.keys(wanted).length === 0 && value === undefined
  return Object.entries(wanted).every(([key, inner]) => contains(ownValue(value, key), inner))
}

export async function writeApply(objects: Objects, request: ApplyRequest): Promise<void> {
  await objects.apply(WorkspaceTemplateApply, toApply(request), { fieldManager: `capt-${request.owner.kind}` })
}

/** Removes the owner reference and marks the apply as retained, so that its infrastructure outlives the owner. */
export async function retainApply(objects: Objects, apply: WorkspaceTemplateApply, owner: AnyObject): Promise<void> {
  const { resourceVersion, ownerReferences = [] } = apply.metadata
  const kept = ownerReferences.filter((ref) => ref.uid !== owner.metadata.uid)
  await objects.patch(WorkspaceTemplateApply, keyOf(apply), {
    type: 'merge',
    body: {
      metadata: { resourceVersion, ownerReferences: kept, labels: { [RETAINED_LABEL]: 'true' } },
      spec: { retainWorkspaceOnDelete: true },
    },
  })
}

export function isRetained(apply: WorkspaceTemplateApply, owner: AnyObject): boolean {
  return !isOwnedBy(apply, owner) && apply.spec.retainWorkspaceOnDelete === true
}
