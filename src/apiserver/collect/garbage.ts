// Owner references: a dependent goes when its last owner has gone; an owner deleted in the foreground waits for those
// that block it; an orphaned one lets them go.
import { groupOf, type OwnerReference } from '#api'
import { isSame } from '../kinds/registry.ts'
import { type ApiObject, cloneJson } from '../object.ts'
import type { Collection } from '../store/store.ts'
import type { World } from '../write/context.ts'
import { removeStored, type Steps, saveStored } from './stored.ts'

interface Found {
  readonly collection: Collection
  readonly object: ApiObject
}

/** Looks again at everything that depends on this uid, and at the owner itself if it waits for them. */
export function* releaseOwner(world: World, uid: string): Steps {
  for (const { object } of world.store.dependents(uid)) {
    collectDependent(world, object.metadata.uid!)
    yield
  }
  const owner = world.store.findByUid(uid)
  if (!owner || !isForeground(owner.object)) return
  const blocked = world.store
    .dependents(uid)
    .some(({ object }) => object.metadata.ownerReferences?.some((ref) => ref.uid === uid && ref.blockOwnerDeletion))
  if (!blocked) dropFinalizer(world, owner, 'foregroundDeletion')
}

/** Decides about one object by its owners. */
export function collectDependent(world: World, uid: string): void {
  const found = world.store.findByUid(uid)
  if (found) collect(world, found)
}

export function* orphanDependents(world: World, uid: string): Steps {
  const owner = world.store.findByUid(uid)
  if (!owner?.object.metadata.deletionTimestamp || !owner.object.metadata.finalizers?.includes('orphan')) return
  for (const { object } of world.store.dependents(uid)) {
    const dependent = world.store.findByUid(object.metadata.uid!)
    if (dependent) keepOwners(world, dependent, (ref) => ref.uid !== uid)
    yield
  }
  const current = world.store.findByUid(uid)
  if (current) dropFinalizer(world, current, 'orphan')
}

function collect(world: World, found: Found): void {
  const { metadata } = found.object
  const owners = metadata.ownerReferences ?? []
  if (owners.length === 0) return
  const states = owners.map((ref) => ({ ref, state: stateOf(world, found.object, ref) }))
  if (states.some(({ state }) => state === 'unknown')) return
  const solid = states.filter(({ state }) => state === 'alive')
  if (solid.length > 0) {
    // Some owner remains: the others are forgotten, the object stays.
    const kept = new Set(solid.map(({ ref }) => ref.uid))
    if (solid.length < states.length) keepOwners(world, found, (ref) => kept.has(ref.uid))
    return
  }
  const waiting = states.some(({ state }) => state === 'waiting')
  if (metadata.deletionTimestamp) return
  const dependsOnMe = world.store.dependents(metadata.uid!).length > 0
  removeStored(world, found.collection, found.object, waiting && dependsOnMe ? 'Foreground' : 'Background')
}

/** `unknown` when the owner's kind is not served at present: then nothing is decided. */
function stateOf(world: World, dependent: ApiObject, ref: OwnerReference): 'alive' | 'waiting' | 'gone' | 'unknown' {
  const type = world.registry.byKind(groupOf(ref.apiVersion), ref.kind)
  if (!type) return 'unknown'
  // Something without a namespace cannot belong to something in one: such a reference is never resolved.
  if (type.namespaced && dependent.metadata.namespace === undefined) return 'unknown'
  const namespace = type.namespaced ? dependent.metadata.namespace! : ''
  // By uid, because an index answers that: a lookup by name reads the rows beside it, which may be large.
  const owner = world.store.findByUid(ref.uid)
  const isThere =
    owner !== undefined &&
    isSame(owner.collection, type.collection) &&
    owner.object.metadata.name === ref.name &&
    (owner.object.metadata.namespace ?? '') === namespace
  if (!isThere) return 'gone'
  return isForeground(owner.object) ? 'waiting' : 'alive'
}

function isForeground({ metadata }: ApiObject): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes('foregroundDeletion')
}

function keepOwners(world: World, { collection, object }: Found, keep: (ref: OwnerReference) => boolean): void {
  const next = cloneJson(object)
  const kept = (next.metadata.ownerReferences ?? []).filter(keep)
  if (kept.length > 0) next.metadata.ownerReferences = kept
  else delete next.metadata.ownerReferences
  saveStored(world, collection, next, object)
}

function dropFinalizer(world: World, { collection, object }: Found, name: string): void {
  const next = cloneJson(object)
  const kept = (next.metadata.finalizers ?? []).filter((finalizer) => finalizer !== name)
  if (kept.length > 0) next.metadata.finalizers = kept
  else delete next.metadata.finalizers
  saveStored(world, collection, next, object)
}
