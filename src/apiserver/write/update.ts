// Changing an object. PUT, every kind of patch and the status subresource all end here, so that versions, generation,
// immutability and the end of a deletion are decided in one place.
import { jsonEqual } from '#lib'
import { metadataFaults, metadataUpdateFaults } from '../kinds/names.ts'
import { trackUpdate } from '../merge/managed-fields.ts'
import { type ApiObject, cloneJson, listAt } from '../object.ts'
import { badRequest, conflict, fault, invalid, MODIFIED, notFound } from '../status.ts'
import { admitFields, checkIdentity } from './admit.ts'
import type { WriteRequest } from './context.ts'
import { create } from './create.ts'
import { stampDecisions } from './stamp.ts'

export interface Written {
  readonly object: ApiObject
  readonly created: boolean
}

/** PUT. */
export function replace(request: WriteRequest, name: string, body: unknown): Written {
  const { type } = request
  const incoming = checkIdentity(request, body)
  incoming.metadata.name ||= name
  if (incoming.metadata.name !== name) {
    throw badRequest(`the name of the object (${incoming.metadata.name}) does not match the name on the URL (${name})`)
  }
  const old = readServed(request, name)
  if (!old) {
    if (!type.rules.createOnUpdate || request.subresource) throw notFound(type, name)
    delete incoming.metadata.uid
    delete incoming.metadata.resourceVersion
    return { object: create(request, incoming), created: true }
  }
  if (!incoming.metadata.resourceVersion && !type.rules.unconditionalUpdate) {
    const why = 'Invalid value: 0x0: must be specified for an update'
    throw invalid({ group: type.group, kind: type.plural }, name, [fault('metadata.resourceVersion', 'Invalid', why)])
  }
  return { object: update(request, old, admitFields(request, incoming)), created: false }
}

/** The object in the version of the request, or undefined. */
export function readServed(request: WriteRequest, name: string): ApiObject | undefined {
  const { type, version, world, namespace } = request
  const stored = world.store.read(type.collection, type.namespaced ? namespace : '', name)
  return stored && type.toServed(stored, version.name)
}

/** Validates and stores `next` in place of `old`, both in the version of the request. `next` may be changed. */
export function update(request: WriteRequest, old: ApiObject, next: ApiObject): ApiObject {
  const { type, version } = request
  const name = old.metadata.name
  checkPreconditions(request, old, next)
  const scoped = withinSubresource(request, old, next)
  keepServerFields(old, scoped)
  if (request.subresource === undefined) {
    type.rules.prepare?.(scoped, old)
    stampDecisions(old, scoped)
  }
  if (type.rules.generation && specChanged(old, scoped, version.status)) {
    scoped.metadata.generation = (old.metadata.generation ?? 0) + 1
  }
  const faults = [
    ...metadataFaults(scoped.metadata, type),
    ...metadataUpdateFaults(scoped.metadata, old.metadata),
    ...(request.subresource === undefined ? (type.rules.validate?.(scoped, old) ?? []) : []),
    ...version.check.validate(scoped, old),
  ]
  if (faults.length > 0) throw invalid(type, name, faults)
  trackUpdate(request, old, scoped)
  return save(request, old, scoped)
}

function checkPreconditions({ type }: WriteRequest, old: ApiObject, next: ApiObject): void {
  const { name, uid, resourceVersion } = old.metadata
  const wanted = next.metadata
  if (wanted.uid && wanted.uid !== uid) {
    throw conflict(type, name, `Precondition failed: UID in precondition: ${wanted.uid}, UID in object meta: ${uid}`)
  }
  if (wanted.resourceVersion && wanted.resourceVersion !== resourceVersion) throw conflict(type, name, MODIFIED)
}

/** What this request may change: everything but the status, or nothing but the status. */
function withinSubresource({ subresource, version }: WriteRequest, old: ApiObject, next: ApiObject): ApiObject {
  if (subresource === 'status') {
    const { managedFields } = next.metadata
    const metadata = { ...cloneJson(old.metadata), ...(managedFields ? { managedFields } : {}) }
    return withStatus({ ...cloneJson(old), metadata }, next)
  }
  if (subresource === 'finalize') {
    return { ...cloneJson(old), spec: next['spec'] ?? {} }
  }
  return version.status ? withStatus(next, old) : next
}

function withStatus(object: ApiObject, from: ApiObject): ApiObject {
  const { status: _, ...rest } = object
  return (from['status'] === undefined ? rest : { ...rest, status: cloneJson(from['status']) }) as ApiObject
}

function keepServerFields(old: ApiObject, next: ApiObject): void {
  const { metadata } = next
  metadata.uid ??= old.metadata.uid!
  for (const field of ['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation'] as const) {
    if (old.metadata[field] === undefined) delete metadata[field]
    else Object.assign(metadata, { [field]: old.metadata[field] })
  }
  metadata.resourceVersion = old.metadata.resourceVersion!
}

function specChanged(old: ApiObject, next: ApiObject, hasStatus: boolean): boolean {
  const strip = ({ metadata: _, apiVersion: __, status, ...rest }: ApiObject) =>
    hasStatus ? rest : { ...rest, status }
  return !jsonEqual(strip(old), strip(next))
}

function save(request: WriteRequest, old: ApiObject, next: ApiObject): ApiObject {
  const { type, world, dryRun } = request
  const stored = world.store.read(type.collection, old.metadata.namespace ?? '', old.metadata.name)!
  const replacement = type.toStored({ ...next, metadata: { ...next.metadata } })
  if (next.metadata.deletionTimestamp && isFree(next)) {
    if (!dryRun) world.store.remove(type.collection, stored)
    return next
  }
  if (jsonEqual(stored, replacement) || dryRun) return next
  world.store.replace(type.collection, replacement, stored)
  next.metadata.resourceVersion = replacement.metadata.resourceVersion!
  return next
}

/** Nothing holds a deleted object any more. Namespaces are held by their spec as well. */
export function isFree(object: ApiObject): boolean {
  const held = object.kind === 'Namespace' && object.apiVersion === 'v1' ? listAt(object, 'spec', 'finalizers') : []
  return (object.metadata.finalizers ?? []).length === 0 && held.length === 0
}
