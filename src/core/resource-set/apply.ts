// Applies parsed objects to a workload cluster by core's two strategies. Every object is tried; errors are collected.
import type { Key, KindRef, UnknownObject } from '#api'
import { ignore, type Objects } from '#kube'
import { isPlainObject, jsonEqual, messageOf } from '#lib'
import { resolveKind } from './kinds.ts'

export type Strategy = 'ApplyOnce' | 'Reconcile'

/** Faults in the order of the objects; empty means that everything was accepted. */
export async function applyObjects(
  remote: Objects,
  objects: readonly UnknownObject[],
  strategy: Strategy,
): Promise<readonly string[]> {
  const faults: string[] = []
  for (const object of objects) {
    try {
      const kind = await resolveKind(remote, object.apiVersion, object.kind)
      await (strategy === 'ApplyOnce' ? createOnce(remote, kind, object) : makeEqual(remote, kind, object))
    } catch (error) {
      faults.push(`failed to apply ${object.kind} ${object.metadata?.name}: ${messageOf(error)}`)
    }
  }
  return faults
}

async function createOnce(remote: Objects, kind: KindRef, object: UnknownObject): Promise<void> {
  await remote.create(kind, object).catch(ignore('AlreadyExists'))
}

async function makeEqual(remote: Objects, kind: KindRef, object: UnknownObject): Promise<void> {
  const { name, namespace } = object.metadata
  const key: Key = namespace === undefined ? { name } : { namespace, name }
  const live = await remote.get<UnknownObject>(kind, key)
  if (!live) return await createOnce(remote, kind, object)
  await remote.patch(kind, key, { type: 'merge', body: diff(withoutServerFields(live), withoutServerFields(object)) })
}

/** What the API server alone decides; sending it as null would mean nothing. */
function withoutServerFields(object: UnknownObject): UnknownObject {
  const {
    uid,
    resourceVersion,
    generation,
    creationTimestamp,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    managedFields,
    ...metadata
  } = object.metadata
  const { status, ...rest } = object
  return { ...rest, metadata } as UnknownObject
}

/** The merge patch from one value to another: what is live and not in the manifest becomes null, finalizers included. */
export function diff(from: object, to: object): Record<string, unknown> {
  const a = from as Record<string, unknown>
  const b = to as Record<string, unknown>
  const patch: Record<string, unknown> = {}
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const left = a[key]
    const right = b[key]
    if (right === undefined || right === null) {
      if (left !== undefined && left !== null) patch[key] = null
    } else if (isPlainObject(left) && isPlainObject(right)) {
      const inner = diff(left, right)
      if (Object.keys(inner).length > 0) patch[key] = inner
    } else if (!jsonEqual(left, right)) patch[key] = right
  }
  return patch
}
