// The shape every Kubernetes object shares, and how we name kinds and objects.
import type { JsonObject } from '#lib'

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly generateName?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly OwnerReference[]
  readonly managedFields?: readonly JsonObject[]
}

export interface AnyObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}

/** An object whose inside we do not know: spec and status are read as plain JSON. */
export interface UnknownObject extends AnyObject {
  readonly [field: string]: unknown
}

/** metav1.Condition. */
export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime: string
  readonly observedGeneration?: number
}

/** Enough to address a kind on a server. Our own kinds (defineKind) are KindRefs too. */
export interface KindRef {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
}

export interface Key {
  readonly namespace?: string
  readonly name: string
}

/** Reference to an object of a known kind; the namespace defaults to that of the referring object. */
export interface ObjectRef {
  readonly name: string
  readonly namespace?: string
}

export function apiVersionOf(kind: Pick<KindRef, 'group' | 'version'>): string {
  return kind.group === '' ? kind.version : `${kind.group}/${kind.version}`
}

/** `group/Kind` without the version: the identity of a kind over all its versions. */
export function groupKindOf(kind: Pick<KindRef, 'group' | 'kind'>): string {
  return `${kind.group}/${kind.kind}`
}

export function keyOf({ metadata: { namespace, name } }: { readonly metadata: Key }): Key {
  return namespace === undefined ? { name } : { namespace, name }
}

/** `namespace/name`, or the name alone for cluster-scoped objects. */
export function keyText(key: Key): string {
  return key.namespace === undefined ? key.name : `${key.namespace}/${key.name}`
}

/** The inverse of `keyText`. */
export function toKey(text: string): Key {
  const slash = text.indexOf('/')
  return slash < 0 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) }
}

/** Index values: the uids of the owners. */
export function ownerUidsOf(object: AnyObject): readonly string[] {
  return (object.metadata.ownerReferences ?? []).map((owner) => owner.uid)
}
