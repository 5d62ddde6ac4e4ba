// Deleting: at once when nothing holds the object, otherwise by marking it and leaving the rest to those who hold it.
import { isPlainObject, toTimestamp } from '#lib'
import { refreshed } from '../kinds/resource.ts'
import { type ApiObject, cloneJson, recordAt } from '../object.ts'
import { conflict, forbidden, invalidFault, invalidOptions, notFound, unsupportedFault } from '../status.ts'
import type { WriteRequest } from './context.ts'
import { isFree } from './update.ts'

export interface DeleteOptions {
  readonly uid?: string
  readonly resourceVersion?: string
  readonly propagation: 'Background' | 'Foreground' | 'Orphan'
}

export interface Deleted {
  /** In the version of the request. */
  readonly object: ApiObject
  /** False while finalizers hold it. */
  readonly gone: boolean
}

/** Everything else counts on these being there. */
const IMMORTAL = new Set(['default', 'kube-system', 'kube-public'])
const POLICIES = ['Background', 'Foreground', 'Orphan'] as const

export function readDeleteOptions(body: unknown, query: URLSearchParams): DeleteOptions {
  const options = isPlainObject(body) ? body : {}
  const preconditions = recordAt(options, 'preconditions') as { uid?: string; resourceVersion?: string }
  const orphan = options['orphanDependents'] ?? query.get('orphanDependents')
  const named = options['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined
  if (named !== undefined && !POLICIES.includes(named as 'Orphan')) {
    throw invalidOptions(
      'DeleteOptions',
      unsupportedFault('propagationPolicy', named, ['Foreground', 'Background', 'Orphan', 'nil']),
    )
  }
  if (named !== undefined && orphan !== undefined && orphan !== null) {
    const why = 'orphanDependents and deletionPropagation cannot be both set'
    throw invalidOptions('DeleteOptions', invalidFault('propagationPolicy', named, why))
  }
  const propagation =
    (named as DeleteOptions['propagation'] | undefined) ??
    (orphan === true || orphan === 'true' ? 'Orphan' : 'Background')
  return {
    ...(preconditions.uid ? { uid: preconditions.uid } : {}),
    ...(preconditions.resourceVersion ? { resourceVersion: preconditions.resourceVersion } : {}),
    propagation,
  }
}

export function remove(request: WriteRequest, name: string, options: DeleteOptions): Deleted {
  const { type, version, world, namespace, dryRun } = request
  const { store } = world
  if (type.group === '' && type.kind === 'Namespace' && IMMORTAL.has(name)) {
    throw forbidden(type, name, 'this namespace may not be deleted')
  }
  const stored = store.read(type.collection, type.namespaced ? namespace : '', name)
  if (!stored) throw notFound(type, name)
  checkPreconditions(request, stored, options)

  // What cannot be converted can still be deleted.
  const shown = (object: ApiObject) =>
    type.unconvertible ? cloneJson(object) : type.toServed(cloneJson(object), version.name)
  const marked = mark(request, stored, options)
  if (isFree(marked)) {
    const last = dryRun ? stored : store.remove(type.collection, stored)
    return { object: shown(last), gone: true }
  }
  const unchanged = JSON.stringify(marked) === JSON.stringify(stored)
  const saved = unchanged || dryRun ? marked : store.replace(type.collection, refreshed(type, marked), stored)
  return { object: shown(saved), gone: false }
}

function checkPreconditions({ type }: WriteRequest, { metadata }: ApiObject, options: DeleteOptions): void {
  // Here, and only here, the real server names the kind instead of the resource.
  const byKind = { group: type.group, plural: type.kind }
  if (options.uid && options.uid !== metadata.uid) {
    const why = `the UID in the precondition (${options.uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`
    throw conflict(byKind, metadata.name, why)
  }
  if (options.resourceVersion && options.resourceVersion !== metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`
    throw conflict(byKind, metadata.name, why)
  }
}

const PROPAGATION_FINALIZER = { Background: undefined, Foreground: 'foregroundDeletion', Orphan: 'orphan' } as const

function mark({ type, world }: WriteRequest, stored: ApiObject, options: DeleteOptions): ApiObject {
  const object = cloneJson(stored)
  const { metadata } = object
  const own = (metadata.finalizers ?? []).filter((name) => name !== 'orphan' && name !== 'foregroundDeletion')
  const mode = PROPAGATION_FINALIZER[options.propagation]
  const finalizers = mode === undefined ? own : [...own, mode]
  if (finalizers.length > 0) metadata.finalizers = finalizers
  else delete metadata.finalizers
  if (metadata.deletionTimestamp === undefined) {
    metadata.deletionTimestamp = toTimestamp(world.clock.now())
    if (type.rules.retire) type.rules.retire(object)
    else {
      metadata.deletionGracePeriodSeconds = 0
      if (metadata.generation !== undefined) metadata.generation += 1
    }
  }
  return object
}
