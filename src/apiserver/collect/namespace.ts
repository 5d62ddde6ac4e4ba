// A namespace that is being deleted: everything inside is deleted, what is held is reported, and when nothing is left the
// namespace lets itself go.
import { conditionsOf } from '../kinds/crd.ts'
import { NAMESPACES } from '../kinds/registry.ts'
import { type ApiObject, cloneJson, listAt, recordAt } from '../object.ts'
import type { Collection } from '../store/store.ts'
import type { World } from '../write/context.ts'
import { removeRow, type Steps, saveStored } from './stored.ts'

export function* emptyNamespace(world: World, name: string): Steps {
  const { store } = world
  const namespace = store.read(NAMESPACES, '', name)
  if (!namespace?.metadata.deletionTimestamp) return
  const left: Left[] = []
  const finalizers = new Map<string, number>()
  for (const collection of store.collectionsIn(name)) {
    let count = 0
    for (const row of store.scan(collection, { namespace: name })) {
      removeRow(world, collection, row)
      const object = store.read(collection, row.namespace, row.name)
      if (object) count += 1
      for (const finalizer of object?.metadata.finalizers ?? [])
        finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1)
      yield
    }
    if (count > 0) left.push({ collection, count })
  }
  const current = store.read(NAMESPACES, '', name)
  if (!current) return
  // What was created in a pause is deleted in the next pass, which its own deletion starts.
  if (left.length === 0 && store.collectionsIn(name).length > 0) return yield* emptyNamespace(world, name)
  saveStored(world, NAMESPACES, withProgress(world, current, left, finalizers), current)
}

interface Left {
  readonly collection: Collection
  readonly count: number
}

function withProgress(
  world: World,
  namespace: ApiObject,
  left: readonly Left[],
  finalizers: ReadonlyMap<string, number>,
): ApiObject {
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
      finalizersCondition(finalizers),
    ]),
  }
  return next
}

function contentText(left: readonly Left[]): string {
  const parts = left.map(
    ({ collection, count }) => `${collection.resource}.${collection.group} has ${count} resource instances`,
  )
  return `Some resources are remaining: ${parts.sort().join(', ')}`
}

function finalizersCondition(counts: ReadonlyMap<string, number>) {
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
