// Writes of the collector: on stored objects, under the same rules as those of clients.
import { refreshed } from '../kinds/resource.ts'
import type { ApiObject } from '../object.ts'
import type { Collection, Row } from '../store/store.ts'
import type { World, WriteRequest } from '../write/context.ts'
import { type DeleteOptions, remove } from '../write/delete.ts'
import { isFree } from '../write/update.ts'

/** Work that may stop after every step, and goes on later with what is there then. */
export type Steps = Generator<void, void, void>

/** Deletes the object of a row that was read earlier, unless it is gone or being deleted by now. */
export function removeRow(world: World, collection: Collection, row: Row): void {
  const object = world.store.read(collection, row.namespace, row.name)
  if (object && !object.metadata.deletionTimestamp) removeStored(world, collection, object, 'Background')
}

export function removeStored(
  world: World,
  collection: Collection,
  object: ApiObject,
  propagation: DeleteOptions['propagation'],
): void {
  const type = world.registry.byCollection(collection.group, collection.resource)
  if (!type) {
    // The kind is gone, and with it every controller that could remove a finalizer.
    world.store.remove(collection, object)
    return
  }
  const request: WriteRequest = {
    type,
    version: type.versions[0]!,
    world,
    namespace: object.metadata.namespace ?? '',
    dryRun: false,
    fieldManager: 'garbage-collector',
    fieldValidation: 'Ignore',
    warn: () => {},
  }
  remove(request, object.metadata.name, { uid: object.metadata.uid!, propagation })
}

/** Stores the new state, or ends the object when it was deleted and nothing holds it any more. */
export function saveStored(world: World, collection: Collection, next: ApiObject, old: ApiObject): void {
  if (next.metadata.deletionTimestamp && isFree(next)) {
    world.store.remove(collection, old)
    return
  }
  if (JSON.stringify(next) === JSON.stringify(old)) return
  const type = world.registry.byCollection(collection.group, collection.resource)
  world.store.replace(collection, type ? refreshed(type, next) : next, old)
}
