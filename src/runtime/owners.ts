// Owner references: made, found by kind (whatever the version), and put back when they were lost. Owners are never
// found by equal names.
import type { AnyObject, KindRef, OwnerReference } from '#api'
import { keyOf } from '#api'
import type { Objects } from '#kube'
import { CaptError } from '#lib'

interface OwnerOptions {
  /** The one owner that manages the object. At most one reference of an object may say so. */
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export function ownerReference(owner: AnyObject, options: OwnerOptions = {}): OwnerReference {
  const { name, uid } = owner.metadata
  if (!uid) {
    throw new CaptError('CAPT_OWNER_WITHOUT_UID', `${owner.kind} ${name} cannot own anything: it has no uid yet`, {
      hint: 'Read it back from the API server before using it as an owner',
    })
  }
  return { apiVersion: owner.apiVersion, kind: owner.kind, name, uid, ...options }
}

export function findOwner(object: AnyObject, kind: Pick<KindRef, 'group' | 'kind'>): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => isOfKind(reference, kind))
}

export function controllerOf(object: Pick<AnyObject, 'metadata'>): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true)
}

export function isOwnedBy(object: AnyObject, owner: AnyObject): boolean {
  return object.metadata.ownerReferences?.some((reference) => reference.uid === owner.metadata.uid) ?? false
}

/**
 * The references with this one among them. One to the same object is brought up to date, one to an earlier object of
 * the same kind and name (another uid) is replaced: it points to nothing.
 */
export function withOwner(
  references: readonly OwnerReference[] | undefined,
  wanted: OwnerReference,
): readonly OwnerReference[] {
  const group = groupOf(wanted.apiVersion)
  const others = (references ?? []).filter(
    (one) => one.uid !== wanted.uid && !(isOfKind(one, { group, kind: wanted.kind }) && one.name === wanted.name),
  )
  return [...others, wanted]
}

/** Puts a lost reference back; nothing is written when it is there. Throws `Conflict` when the object moved on. */
export async function restoreOwner(
  objects: Objects,
  kind: KindRef,
  object: AnyObject,
  wanted: OwnerReference,
): Promise<void> {
  const present = object.metadata.ownerReferences?.find((one) => one.uid === wanted.uid)
  if (present && (present.controller ?? false) === (wanted.controller ?? false)) return
  const { resourceVersion } = object.metadata
  const ownerReferences = withOwner(object.metadata.ownerReferences, wanted)
  await objects.patch(kind, keyOf(object), { type: 'merge', body: { metadata: { resourceVersion, ownerReferences } } })
}

function isOfKind(reference: OwnerReference, kind: Pick<KindRef, 'group' | 'kind'>): boolean {
  return reference.kind === kind.kind && groupOf(reference.apiVersion) === kind.group
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
}
