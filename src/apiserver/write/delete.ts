// Deleting: at once when nothing holds the object, otherwise by marking it and leaving the rest to those who hold it.
import { isPlainObject, toTimestamp } from '#lib'
import { type ApiObject, cloneJson, recordAt } from '../object.ts'
import { badRequest, conflict, notFound } from '../status.ts'
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

const POLICIES = ['Background', 'Foreground', 'Orphan'] as const

export function readDeleteOptions(body: unknown, query: URLSearchParams): DeleteOptions {
  const options = isPlainObject(body) ? body : {}
  const preconditions = recordAt(options, 'preconditions') as { uid?: string; resourceVersion?: string }
  const orphan = options['orphanDependents'] ?? query.get('orphanDependents')
  const named = options['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined
  if (named !== undefined && !POLICIES.includes(named as 'Orphan')) {
    throw badRequest(
      `propagationPolicy: Unsupported value: "${named}": supported values: "Foreground", "Background", "Orphan"`,
    )
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
  const stored = store.read(type.collection, type.namespaced ? namespace : '', name)
  if (!stored) throw notFound(type, name)
  checkPreconditions(request, stored, options)
  type.rules.beforeDelete?.(stored)

  const marked = mark(request, stored, options)
  if (isFree(marked)) {
    const last = dryRun ? stored : store.remove(type.collection, stored)
    return { object: type.toServed(cloneJson(last), version.name), gone: true }
  }
  const unchanged = JSON.stringify(marked) === JSON.stringify(stored)
  const saved = unchanged || dryRun ? marked : store.replace(type.collection, marked, stored)
  return { object: type.toServed(cloneJson(saved), version.name), gone: false }
}

function checkPreconditions({ type }: WriteRequest, { metadata }: ApiObject, options: DeleteOptions): void {
  if (options.uid && options.uid !== metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${options.uid}, UID in object meta: ${metadata.uid}`
    throw conflict(type, metadata.name, why)
  }
  if (options.resourceVersion && options.resourceVersion !== metadata.resourceVersion) {
    const why = `Precondition failed: ResourceVersion in precondition: ${options.resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`
    throw conflict(type, metadata.name, why)
  }
}

const PROPAGATION_FINALIZER = { Background: undefined, Foreground: 'foregroundDeletion', Orphan: 'orphan' } as const

function mark({ world }: WriteRequest, stored: ApiObject, options: DeleteOptions): ApiObject {
  const object = cloneJson(stored)
  const { metadata } = object
  const own = (metadata.finalizers ?? []).filter((name) => name !== 'orphan' && name !== 'foregroundDeletion')
  const mode = PROPAGATION_FINALIZER[options.propagation]
  const finalizers = mode === undefined ? own : [...own, mode]
  if (finalizers.length > 0) metadata.finalizers = finalizers
  else delete metadata.finalizers
  if (metadata.deletionTimestamp === undefined) {
    metadata.deletionTimestamp = toTimestamp(world.clock.now())
    metadata.deletionGracePeriodSeconds = 0
    if (metadata.generation !== undefined) metadata.generation += 1
    if (object.kind === 'Namespace' && object.apiVersion === 'v1') {
      object['status'] = { ...recordAt(object, 'status'), phase: 'Terminating' }
    }
  }
  return object
}
