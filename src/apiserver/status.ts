// Every refusal is a Kubernetes Status, worded as kube-apiserver words it, because kubectl shows the words and
// clients match on reason and code.
import type { Fault } from '#api'

export interface Cause {
  readonly reason?: string
  readonly message: string
  readonly field?: string
}

interface Details {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly Cause[]
  readonly retryAfterSeconds?: number
}

export interface Status {
  readonly kind: 'Status'
  readonly apiVersion: 'v1'
  readonly metadata: object
  readonly status: 'Success' | 'Failure'
  readonly message?: string
  readonly reason?: string
  readonly details?: Details
  /** Absent on success. */
  readonly code?: number
}

export class StatusError extends Error {
  readonly status: Status & { readonly code: number }

  constructor(code: number, reason: string, message: string, details?: Details, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'StatusError'
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason ? { reason } : {}),
      ...(details ? { details } : {}),
      code,
    }
  }
}

/** A kind of object as messages name it: `secrets`, `widgets.example.com`. */
interface ResourceName {
  readonly group: string
  readonly plural: string
}
interface KindName {
  readonly group: string
  readonly kind: string
}

function qualified(group: string, word: string): string {
  return group === '' ? word : `${word}.${group}`
}

function about({ group, plural }: ResourceName, name: string): Details {
  return { ...(name ? { name } : {}), ...(group ? { group } : {}), kind: plural }
}

export function notFound(resource: ResourceName, name: string): StatusError {
  const message = `${qualified(resource.group, resource.plural)} "${name}" not found`
  return new StatusError(404, 'NotFound', message, about(resource, name))
}

export function alreadyExists(resource: ResourceName, name: string): StatusError {
  const message = `${qualified(resource.group, resource.plural)} "${name}" already exists`
  return new StatusError(409, 'AlreadyExists', message, about(resource, name))
}

export function conflict(resource: ResourceName, name: string, why: string): StatusError {
  const message = `Operation cannot be fulfilled on ${qualified(resource.group, resource.plural)} "${name}": ${why}`
  return new StatusError(409, 'Conflict', message, about(resource, name))
}

export const MODIFIED =
  'the object has been modified; please apply your changes to the latest version and try again' as const

export function forbidden(
  resource: ResourceName,
  name: string,
  why: string,
  causes: readonly Cause[] = [],
): StatusError {
  const what = qualified(resource.group, resource.plural)
  const message = name === '' ? `${what} is forbidden: ${why}` : `${what} "${name}" is forbidden: ${why}`
  const details = { ...about(resource, name), ...(causes.length > 0 ? { causes } : {}) }
  return new StatusError(403, 'Forbidden', message, details)
}

const FAULT_REASON: Readonly<Record<Fault['type'], string>> = {
  Required: 'FieldValueRequired',
  Invalid: 'FieldValueInvalid',
  TypeInvalid: 'FieldValueTypeInvalid',
  NotSupported: 'FieldValueNotSupported',
  Duplicate: 'FieldValueDuplicate',
  TooLong: 'FieldValueTooLong',
  TooMany: 'FieldValueTooMany',
  Forbidden: 'FieldValueForbidden',
}

export function invalid(kind: KindName, name: string, faults: readonly Fault[]): StatusError {
  const lines = [...new Set(faults.map((fault) => fault.message))]
  const list = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`
  const causes = faults.map((fault) => ({
    reason: FAULT_REASON[fault.type],
    message: fault.message.startsWith(`${fault.path}: `) ? fault.message.slice(fault.path.length + 2) : fault.message,
    field: fault.path,
  }))
  const details = {
    ...(name ? { name } : {}),
    ...(kind.group ? { group: kind.group } : {}),
    ...(kind.kind ? { kind: kind.kind } : {}),
    causes,
  }
  return new StatusError(422, 'Invalid', `${qualified(kind.group, kind.kind)} "${name}" is invalid: ${list}`, details)
}

export function badRequest(message: string): StatusError {
  return new StatusError(400, 'BadRequest', message)
}

export function expired(message: string): StatusError {
  return new StatusError(410, 'Expired', message)
}

export function methodNotAllowed(): StatusError {
  const message = 'the server does not allow this method on the requested resource'
  return new StatusError(405, 'MethodNotAllowed', message, {})
}

/** The address means nothing that is served here. */
export function notServed(): StatusError {
  return new StatusError(404, 'NotFound', 'the server could not find the requested resource', {})
}

/** Something is wrong with the query: `ListOptions`, `DeleteOptions`, `PatchOptions`. */
export function invalidOptions(kind: string, fault: Fault): StatusError {
  return invalid({ group: 'meta.k8s.io', kind }, '', [fault])
}

export function notAcceptable(message: string): StatusError {
  return new StatusError(406, 'NotAcceptable', message)
}

export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`
  return new StatusError(415, 'UnsupportedMediaType', message)
}

/** The request is valid and would keep the server from answering others. */
export function tooExpensive(why: string): StatusError {
  return new StatusError(422, 'Invalid', `the request is too expensive: ${why}`)
}

export function unauthorized(): StatusError {
  return new StatusError(401, 'Unauthorized', 'Unauthorized')
}

export function internalError(why: string, cause?: unknown): StatusError {
  return new StatusError(500, 'InternalError', `Internal error occurred: ${why}`, { causes: [{ message: why }] }, cause)
}

/** The resource version asked for lies in the future: the client should ask again in a moment. */
export function tooLargeVersion(asked: number, current: number): StatusError {
  const message = `Timeout: Too large resource version: ${asked}, current: ${current}`
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }]
  return new StatusError(504, 'Timeout', message, { causes, retryAfterSeconds: 1 })
}

export function fault(path: string, type: Fault['type'], text: string): Fault {
  return { path, type, message: `${path}: ${text}` }
}

export const requiredFault = (path: string, why = ''): Fault =>
  fault(path, 'Required', why === '' ? 'Required value' : `Required value: ${why}`)
export const invalidFault = (path: string, value: unknown, why: string): Fault =>
  fault(path, 'Invalid', `Invalid value: ${JSON.stringify(value)}: ${why}`)
export const forbiddenFault = (path: string, why: string): Fault => fault(path, 'Forbidden', `Forbidden: ${why}`)
export const unsupportedFault = (path: string, value: unknown, supported: readonly string[]): Fault =>
  fault(
    path,
    'NotSupported',
    `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported.map((item) => `"${item}"`).join(', ')}`,
  )
