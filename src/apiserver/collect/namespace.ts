// A namespace that is being deleted: everything inside is deleted, what is held is reported, and when nothing is left the
// namespace lets itself go.
import { parseJson } from '#lib'
import { conditionsOf } from '../kinds/crd.ts'
import { NAMESPACES } from '../kinds/registry.ts'
import { type ApiObject, cloneJson, listAt, recordAt } from '../object.ts'
import type { Collection } from '../store/store.ts'
import type { World } from '../write/context.ts'
import { removeStored, saveStored } from './stored.ts'

export function emptyNamespace(world: World, name: string): void {
  const { store } = world
  const namespace = store.read(NAMESPACES, '', name)
  if (!namespace?.metadata.deletionTimestamp) return
  for (const collection of store.collectionsIn(name)) {
    for (const row of [...store.scan(collection, { namespace: name })]) {
      const object = parseJson(row.text) as ApiObject
      if (!object.metadata.deletionTimestamp) removeStored(world, collection, object, 'Background')
    }
  }
  const left = store.collectionsIn(name).map((collection) => ({
    collection,
    objects: [...store.scan(collection, { namespace: name })].map((row) => parseJson(row.text) as ApiObject),
  }))
  const current = store.read(NAMESPACES, '', name)
  if (current) saveStored(world, NAMESPACES, judged(world, current, left), current)
}

interface Left {
  readonly collection: Collection
  readonly objects: readonly ApiObject[]
}

function judged(world: World, namespace: ApiObject, left: readonly Left[]): ApiObject {
  const next = cloneJson(namespace)
  if (left.length === 0) {
    next['spec'] = {
      ...recordAt(next, 'spec'),
      finalizers: listAt(next, 'spec', 'finalizers').filter((item) => item !== 'kubernetes'),
    }
    return next
  }
  const ok = (type: string, reason: string, message: string) => ({ type, status: 'False', reason, message })
  next['status'] = {
    ...recordAt(next, 'status'),
    phase: 'Terminating',
    conditions: conditionsOf(recordAt(next, 'status'), world.clock, [
      ok('NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'),
      ok(
        'NamespaceDeletionGroupVersionParsingFailure',
        'ParsedGroupVersions',
        'All legacy kube types successfully parsed',
      ),
      ok(
        'NamespaceDeletionContentFailure',
        'ContentDeleted',
        'All content successfully deleted, may be waiting on finalization',
      ),
      { type: 'NamespaceContentRemaining', status: 'True', reason: 'SomeResourcesRemain', message: contentText(left) },
      finalizersCondition(left),
    ]),
  }
  return next
}

function contentText(left: readonly Left[]): string {
  const parts = left.map(
    ({ collection, objects }) => `${collection.resource}.${collection.group} has ${objects.length} resource instances`,
  )
  return `Some resources are remaining: ${parts.sort().join(', ')}`
}

function finalizersCondition(left: readonly Left[]) {
  const counts = new Map<string, number>()
  for (const finalizer of left.flatMap(({ objects }) =>
    objects.flatMap((object) => object.metadata.finalizers ?? []),
  )) {
    counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1)
  }
  const type = 'NamespaceFinalizersRemaining'
  if (counts.size === 0) {
    return {
      type,
      status: 'False',
      reason: 'ContentHasNoFinalizers',
      message: 'All content-preserving finalizers finished',
    }
  }
  const parts = [...counts].sort().map(([finalizer, count]) => `${finalizer} in ${count} resource instances`)
  return {
    type,
    status: 'True',
    reason: 'SomeFinalizersRemain',
    message: `Some content in the namespace has finalizers remaining: ${parts.join(', ')}`,
  }
}
