// Admits every new state of an object: its kind, version and namespace are those of the request, and it has only fields
// that exist (or the client gets a warning about those it lost).
import { isPlainObject } from '#lib'
import { apiVersionIn } from '../kinds/resource.ts'
import { shapeFault } from '../limits.ts'
import { type ApiObject, type Metadata, textAt } from '../object.ts'
import { badRequest, invalid, invalidFault, type StatusError } from '../status.ts'
import type { WriteRequest } from './context.ts'

/** The body as an object of the requested kind and version. Missing apiVersion and kind are filled in. */
export function checkIdentity(request: WriteRequest, sent: unknown): ApiObject {
  const { type, version } = request
  const body = sent === null && !type.custom ? {} : sent
  if (!isPlainObject(body)) throw badRequest(`the body of the request was not a ${type.kind} object`)
  const expected = apiVersionIn(type, version.name)
  const { apiVersion, kind, metadata } = body
  if (type.custom && kind === undefined) {
    throw badRequest(`the object provided is unrecognized (must be of type ${type.kind}): Object 'Kind' is missing`)
  }
  if (kind !== undefined && kind !== type.kind) throw wrongKind(request, `${kind}`, `${apiVersion ?? ''}`, metadata)
  if (apiVersion !== undefined && apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    )
  }
  if (metadata !== undefined && metadata !== null && !isPlainObject(metadata)) {
    throw badRequest(
      `${type.kind} in version "${version.name}" cannot be handled as a ${type.kind}: json: cannot unmarshal ${Array.isArray(metadata) ? 'array' : typeof metadata} into Go struct field .metadata of type v1.ObjectMeta`,
    )
  }
  const object = { ...body, apiVersion: expected, kind: type.kind, metadata: { ...(metadata as object) } } as ApiObject
  placeInNamespace(request, object.metadata)
  delete (object.metadata as { selfLink?: string }).selfLink
  checkStringMaps(object, type.kind, version.name)
  dropEmpty(object.metadata)
  return object
}

function wrongKind({ type }: WriteRequest, kind: string, apiVersion: string, metadata: unknown): StatusError {
  if (type.custom) {
    const name = textAt(metadata, 'name')
    return invalid({ group: type.group, kind }, name, [invalidFault('kind', kind, `must be ${type.kind}`)])
  }
  return badRequest(`${kind} in version "${apiVersion}" cannot be handled as a ${type.kind}: it is a ${kind}`)
}

function placeInNamespace({ type, namespace }: WriteRequest, metadata: Metadata): void {
  if (!type.namespaced) {
    if (!metadata.namespace) delete metadata.namespace
    return
  }
  if (metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  metadata.namespace = namespace
}

function checkStringMaps({ metadata }: ApiObject, kind: string, version: string): void {
  const refuse = (field: string, found: unknown, wanted: string): never => {
    const name = Array.isArray(found) ? 'array' : typeof found === 'boolean' ? 'bool' : typeof found
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a ${kind}: json: cannot unmarshal ${name} into Go struct field ObjectMeta.metadata.${field} of type ${wanted}`,
    )
  }
  for (const field of ['labels', 'annotations'] as const) {
    const map: unknown = metadata[field]
    if (map === null) delete metadata[field]
    else if (map !== undefined && !isPlainObject(map)) refuse(field, map, 'map[string]string')
    for (const [key, value] of Object.entries(metadata[field] ?? {})) {
      if (value === null) metadata[field] = { ...metadata[field], [key]: '' }
      else if (typeof value !== 'string') refuse(field, value, 'string')
    }
  }
  for (const field of ['name', 'generateName', 'uid', 'resourceVersion'] as const) {
    const text: unknown = metadata[field]
    if (text === null) delete metadata[field]
    else if (text !== undefined && typeof text !== 'string') refuse(field, text, 'string')
  }
  for (const field of ['finalizers', 'ownerReferences', 'managedFields'] as const) {
    const list: unknown = metadata[field]
    if (list === null) delete metadata[field]
    else if (list !== undefined && !Array.isArray(list)) refuse(field, list, '[]')
  }
}

/** Empty is the same as absent in metadata, and is not kept. */
function dropEmpty(metadata: Metadata): void {
  for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences', 'managedFields'] as const) {
    if (metadata[field] && Object.keys(metadata[field]).length === 0) delete metadata[field]
  }
}

/** Prunes, defaults, and deals with unknown and doubled fields as the request asked. */
export function admitFields(request: WriteRequest, object: ApiObject): ApiObject {
  const { type, version, fieldValidation, duplicates = [] } = request
  const why = shapeFault(object)
  if (why !== undefined) throw badRequest(`${type.kind} in version "${version.name}" cannot be handled: ${why}`)
  const { object: admitted, unknown } = version.check.admit(object)
  const complaints = [
    ...unknown.map((path) => `unknown field "${path}"`),
    ...duplicates.map((path) => `duplicate field "${path}"`),
  ]
  if (complaints.length === 0 || fieldValidation === 'Ignore') return admitted
  if (fieldValidation === 'Strict') {
    throw badRequest(
      `${type.kind} in version "${version.name}" cannot be handled as a ${type.kind}: strict decoding error: ${complaints.join(', ')}`,
    )
  }
  for (const complaint of complaints) request.warn(complaint)
  return admitted
}
