// The three older kinds of patch. Each makes a new state out of the present one; the rest is an ordinary update.
import { applyJsonPatch, isPlainObject, mergePatch, PatchError, type PatchOperation } from '#lib'
import { MAX_BODY } from '../limits.ts'
import { type ApiObject, cloneJson } from '../object.ts'
import { badRequest, fault, invalid, notFound, StatusError, tooExpensive, unsupportedMediaType } from '../status.ts'
import { admitFields, checkIdentity } from '../write/admit.ts'
import type { WriteRequest } from '../write/context.ts'
import { readServed, update } from '../write/update.ts'
import { strategicMerge } from './strategic.ts'

const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'
const STRATEGIC = 'application/strategic-merge-patch+json'
const MAX_OPERATIONS = 10_000
const MAX_PATCH_MS = 2000

export function patchObject(request: WriteRequest, name: string, patch: unknown, mediaType: string): ApiObject {
  const { type, version } = request
  if (![MERGE, JSON_PATCH, STRATEGIC].includes(mediaType) || (mediaType === STRATEGIC && type.custom)) {
    throw unsupported(type.custom)
  }
  const old = readServed(request, name)
  if (!old) throw notFound(type, name)
  const next = patchValue(cloneJson(old), patch, mediaType, version.schema)
  const identified = checkIdentity(request, next)
  if (identified.metadata.name !== name) {
    throw badRequest(
      `the name of the object (${identified.metadata.name}) does not match the name on the URL (${name})`,
    )
  }
  return update(request, old, admitPatched(request, identified))
}

/** A patch that makes an object unreadable is the patch's fault, and the answer says so. */
function admitPatched(request: WriteRequest, object: ApiObject): ApiObject {
  try {
    return admitFields(request, object)
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    const why = error.message.replace(/^.* cannot be handled as an? \w+: /, '')
    throw invalid({ group: '', kind: '' }, '', [fault('patch', 'Invalid', `Invalid value: ${why}`)])
  }
}

/** The patched value. `value` may be changed. */
export function patchValue(value: unknown, patch: unknown, mediaType: string, schema?: object): unknown {
  if (mediaType === JSON_PATCH) return applyOperations(value, patch)
  if (!isPlainObject(patch)) throw badRequest('the body of a merge patch must be an object')
  return mediaType === STRATEGIC ? strategicMerge(value, patch, schema) : mergePatch(value, patch)
}

function applyOperations(value: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw badRequest('the body of a JSON patch must be a list of operations')
  if (patch.length > MAX_OPERATIONS) {
    throw new StatusError(
      413,
      'RequestEntityTooLarge',
      `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`,
    )
  }
  for (const operation of patch) checkOperation(operation)
  try {
    return applyJsonPatch(value, patch as PatchOperation[], { copyBytes: MAX_BODY, checkpoint: timeBudget() })
  } catch (error) {
    if (!(error instanceof PatchError)) throw error
    const { op, path } = patch[error.index] as PatchOperation
    throw rejected(`operation ${error.index} (${op} ${path}) failed: ${error.message}`)
  }
}

/** A patch runs on the thread that answers all clients, so it must not run for long. */
function timeBudget(): () => void {
  const end = performance.now() + MAX_PATCH_MS
  return () => {
    if (performance.now() > end) throw tooExpensive(`the JSON patch takes longer than ${MAX_PATCH_MS / 1000} s`)
  }
}

function checkOperation(operation: unknown): void {
  if (!isPlainObject(operation) || typeof operation['op'] !== 'string' || typeof operation['path'] !== 'string') {
    throw badRequest('every operation of a JSON patch needs op and path')
  }
  const needsFrom = operation['op'] === 'move' || operation['op'] === 'copy'
  if (needsFrom && typeof operation['from'] !== 'string') {
    throw badRequest(`the operation ${operation['op']} of a JSON patch needs from`)
  }
}

function rejected(why: string): StatusError {
  return new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {
    causes: [{ reason: 'UnexpectedServerResponse', message: why }],
  })
}

function unsupported(custom: boolean): StatusError {
  const supported = [JSON_PATCH, MERGE, ...(custom ? [] : [STRATEGIC]), 'application/apply-patch+yaml']
  return unsupportedMediaType(supported)
}
