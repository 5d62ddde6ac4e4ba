// Finalizers, written so that two writers cannot lose each other's: the patch contains the version it was made from.
import type { AnyObject, KindRef } from '#api'
import { keyOf } from '#api'
import { ignore, type Objects } from '#kube'

export function hasFinalizer(object: AnyObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false
}

/** Does nothing when it is there. Throws `Conflict` when the object has changed: the next reconcile reads it again. */
export async function addFinalizer(
  objects: Objects,
  kind: KindRef,
  object: AnyObject,
  finalizer: string,
): Promise<void> {
  if (hasFinalizer(object, finalizer)) return
  await write(objects, kind, object, [...(object.metadata.finalizers ?? []), finalizer])
}

/** Does nothing when it is not there, or when the object is already gone. */
export async function removeFinalizer(
  objects: Objects,
  kind: KindRef,
  object: AnyObject,
  finalizer: string,
): Promise<void> {
  if (!hasFinalizer(object, finalizer)) return
  const rest = object.metadata.finalizers!.filter((name) => name !== finalizer)
  await write(objects, kind, object, rest).catch(ignore('NotFound'))
}

async function write(objects: Objects, kind: KindRef, object: AnyObject, finalizers: readonly string[]) {
  const { resourceVersion } = object.metadata
  const body = { metadata: { resourceVersion, finalizers } }
  await objects.patch(kind, keyOf(object), { type: 'merge', body })
}
