// One object as it is made in another cluster: without what the first server gave it, owned by the new uids.
import { type AnyObject, BLOCK_MOVE_ANNOTATION, type Condition, type OwnerReference } from '#api'
import { isPlainObject } from '#lib'

const DROPPED_ANNOTATIONS = ['kubectl.kubernetes.io/last-applied-configuration', BLOCK_MOVE_ANNOTATION]

/** `uids`: from an object's uid here to its uid there. References to what does not move are dropped. */
export function toCopy(object: AnyObject, uids: ReadonlyMap<string, string>): AnyObject {
  const { status, metadata, ...rest } = object as AnyObject & { readonly status?: unknown }
  const { name, namespace, labels, annotations, finalizers, ownerReferences } = metadata
  const owners = (ownerReferences ?? []).flatMap((owner): OwnerReference[] => {
    const uid = uids.get(owner.uid)
    return uid === undefined ? [] : [{ ...owner, uid }]
  })
  const kept = Object.entries(annotations ?? {}).filter(([key]) => !DROPPED_ANNOTATIONS.includes(key))
  return {
    ...rest,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels ? { labels } : {}),
      ...(kept.length > 0 ? { annotations: Object.fromEntries(kept) } : {}),
      ...(finalizers?.length ? { finalizers } : {}),
      ...(owners.length > 0 ? { ownerReferences: owners } : {}),
    },
  }
}

/** A Cluster arrives paused: nothing works on it before everything is there. */
export function withPause(object: AnyObject, paused: boolean): AnyObject {
  const { spec } = object as { readonly spec?: unknown }
  return { ...object, spec: { ...(isPlainObject(spec) ? spec : {}), paused } } as AnyObject
}

/** The status as it was, speaking of the generation that the new object has. */
export function toStatus(object: AnyObject, generation: number | undefined): object | undefined {
  const { status } = object as { readonly status?: { readonly conditions?: readonly Condition[] } }
  if (!isPlainObject(status)) return undefined
  const { conditions } = status as { readonly conditions?: readonly Condition[] }
  const updated = conditions?.map((condition) =>
    condition.observedGeneration === undefined || generation === undefined
      ? condition
      : { ...condition, observedGeneration: generation },
  )
  const observed = 'observedGeneration' in status && generation !== undefined ? { observedGeneration: generation } : {}
  return { ...status, ...observed, ...(updated ? { conditions: updated } : {}) }
}
