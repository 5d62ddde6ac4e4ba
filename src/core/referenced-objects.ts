// The objects that a Cluster or a MachinePool refers to, its parts: read by the contract, claimed, and deleted in order.
import { type AnyObject, CLUSTER_NAME_LABEL, type ContractRef, type Kind, type KindRef, keyOf } from '#api'
import type { Cache, Objects, Projected } from '#kube'
import { fieldsOf } from '#lib'
import { act, type Decision, isOwnedBy, ownerReference, waiting, withOwner } from '#runtime'

export interface Part {
  readonly ref: ContractRef
  /** Undefined when the embedded home does not serve it. */
  readonly kind: Kind | undefined
  readonly object: Projected<AnyObject> | undefined
}

export type PartAction = { readonly do: 'claim' | 'delete'; readonly part: Part }

/** Finds the object of a reference among those of these kinds. */
export function findPart(
  cache: Cache,
  kinds: readonly Kind[],
  namespace: string,
  ref: ContractRef | undefined,
): Part | undefined {
  if (!ref) return undefined
  const kind = kinds.find((one) => one.group === ref.group && one.kind === ref.kind)
  return { ref, kind, object: kind && cache.get(kind, { namespace, name: ref.name }) }
}

export const statusFieldsOf = (part: Part | undefined): Readonly<Record<string, unknown>> =>
  fieldsOf((part?.object as { status?: unknown } | undefined)?.status)

/** Values of an index of owners by the objects that they refer to. */
export const referenceTexts = (namespace: string, ...refs: readonly (ContractRef | undefined)[]): readonly string[] =>
  refs.flatMap((ref) => (ref ? [`${ref.kind}/${namespace}/${ref.name}`] : []))

/** The value of that index under which the owners of an object are. */
export const referenceTextOf = ({ kind, metadata }: AnyObject): string =>
  `${kind}/${metadata.namespace ?? ''}/${metadata.name}`

/** Whether the object has its owner and the label of its Cluster. */
export function isClaimed(object: AnyObject, owner: AnyObject, cluster: string): boolean {
  return isOwnedBy(object, owner) && object.metadata.labels?.[CLUSTER_NAME_LABEL] === cluster
}

/** Claims every part that is there and not claimed yet; undefined when none is left. */
export function decideClaims(
  parts: readonly (Part | undefined)[],
  owner: AnyObject,
  cluster: string,
): Decision<PartAction> | undefined {
  const unclaimed = parts.filter((part) => part?.object && !isClaimed(part.object, owner, cluster))
  return unclaimed.length > 0 ? act(...unclaimed.map((part): PartAction => ({ do: 'claim', part: part! }))) : undefined
}

/** Deletes parts one after the other, as long as the owner has them; undefined when none is left. */
export function decidePartDeletion(
  parts: readonly (Part | undefined)[],
  owner: AnyObject,
): Decision<PartAction> | undefined {
  const part = parts.find((one) => one?.object && isOwnedBy(one.object, owner))
  if (!part?.object) return undefined
  const { kind, metadata } = part.object
  if (metadata.deletionTimestamp === undefined) return act({ do: 'delete', part })
  return waiting('Deleting', `Waiting for ${kind} ${metadata.name} to be deleted`)
}

/** A Cluster does not control what it owns, as in core. */
export async function claim(
  objects: Objects,
  kind: KindRef,
  object: AnyObject,
  owner: AnyObject,
  cluster: string,
): Promise<void> {
  const { resourceVersion, ownerReferences } = object.metadata
  const reference = ownerReference(owner, owner.kind === 'Cluster' ? {} : { controller: true })
  const body = {
    metadata: {
      resourceVersion,
      labels: { [CLUSTER_NAME_LABEL]: cluster },
      ownerReferences: withOwner(ownerReferences, reference),
    },
  }
  await objects.patch(kind, keyOf(object), { type: 'merge', body })
}

export async function actOnPart(
  objects: Objects,
  { do: what, part: { kind, object } }: PartAction,
  owner: AnyObject,
  cluster: string,
): Promise<void> {
  if (!kind || !object) return
  if (what === 'claim') return claim(objects, kind, object, owner, cluster)
  return objects.delete(kind, keyOf(object), { uid: object.metadata.uid ?? '' })
}
