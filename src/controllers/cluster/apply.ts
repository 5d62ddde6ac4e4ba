// The WorkspaceTemplateApply behind a part of a cluster: the request we write, and what it says about its run.
// We own only the fields we set (server-side apply), so whatever people add to it by hand stays.
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
import { controllerOf, isOwnedBy, ownerReference } from '#runtime'
import { waysOut } from '../workspace-apply/decide-fault.ts'

export type Identity = NonNullable<CAPTCluster['spec']['identity']>

/** What we ask of a run. Absent fields are left to whoever writes them by hand. */
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

/** Hash of the request as we last wrote it: tells a removed field from one that never was. */
export const WANTED_ANNOTATION = 'capt.appthrust.com/wanted'
/** On an apply that outlives its cluster. */
export const RETAINED_LABEL = 'capt.appthrust.com/retained'

export type ApplyState =
  | { readonly is: 'absent' }
  | {
      readonly is: 'progressing'
      readonly message: string
      /** When it was made, as long as it has not reported. */
      readonly silentSince?: string
    }
  | { readonly is: 'failed'; readonly message: string; readonly hint: string; readonly timedOut: boolean }
  | { readonly is: 'applied' }

export interface ApplyFacts {
  readonly state: ApplyState
  readonly deleting: boolean
  /** A run is on, so the object must not be moved away now. */
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

/** A change that tells the owner of an apply nothing: the steps of its run, and that it may be moved again. */
export function isSameApply(now: AnyObject, before: AnyObject): boolean {
  const told = (object: AnyObject) => {
    const { generation, deletionTimestamp, labels, ownerReferences, annotations } = object.metadata
    const { [BLOCK_MOVE_ANNOTATION]: _move, ...notes } = annotations ?? {}
    const facts = readApply(object as WorkspaceTemplateApply)
    return { generation, deletionTimestamp, labels, ownerReferences, notes, facts }
  }
  return jsonEqual(told(now), told(before))
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

/** A deletion that stopped needs more than the remedy of its last failure: the owner names every way out as well. */
function hintOf(apply: WorkspaceTemplateApply, hint: string): string {
  return apply.metadata.deletionTimestamp === undefined ? hint : waysOut(apply, hint)
}

/** A condition that speaks of the spec as it is now; an older one says nothing about what we asked for. */
function conditionNow(apply: WorkspaceTemplateApply, type: string) {
  const raw = apply.status?.conditions?.find((condition) => condition.type === type)
  if (raw?.observedGeneration !== undefined && raw.observedGeneration !== apply.metadata.generation) return undefined
  return findCondition(apply.status?.conditions, type)
}

const ENDED: readonly string[] = ['Succeeded', 'Failed', 'Cancelled', 'Lost']

function isRunning(apply: WorkspaceTemplateApply): boolean {
  const phase = apply.status?.run?.phase
  return phase !== undefined && !ENDED.includes(phase)
}

function textOf(error: { readonly address?: string; readonly message?: string }): string {
  return error.address ? `${error.address}: ${error.message ?? ''}` : (error.message ?? '')
}

/** The controller that owns an object, unless it is `owner` itself. */
export function strangerOwning(object: Pick<AnyObject, 'metadata'>, owner: AnyObject): OwnerReference | undefined {
  const controller = controllerOf(object)
  return controller && controller.uid !== owner.metadata.uid ? controller : undefined
}

export function toApply({ name, namespace, cluster, owner, spec }: ApplyRequest): AnyObject & { spec: ApplySpec } {
  return {
    apiVersion: WorkspaceTemplateApply.apiVersion,
    kind: WorkspaceTemplateApply.kind,
    metadata: {
      name,
      namespace,
      labels: { [CLUSTER_NAME_LABEL]: cluster },
      // A new wish means a run: the apply is held, and must not be moved, from its first moment on.
      annotations: { [WANTED_ANNOTATION]: hashOf(spec), [BLOCK_MOVE_ANNOTATION]: 'true' },
      finalizers: [APPLY_FINALIZER],
      ownerReferences: [ownerReference(owner, { controller: true, blockOwnerDeletion: true })],
    },
    spec,
  }
}

/** Whether nothing needs to be written: our fields are there as we wrote them. */
export function isAsWanted(current: Projected<WorkspaceTemplateApply> | undefined, request: ApplyRequest): boolean {
  if (!current) return false
  const { metadata, spec } = toApply(request)
  return (
    current.metadata.annotations?.[WANTED_ANNOTATION] === metadata.annotations?.[WANTED_ANNOTATION] &&
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

/** Cuts the apply loose and marks it retained, so that neither we nor garbage collection destroys what it made. */
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
