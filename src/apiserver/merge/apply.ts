// Server-side apply: the client says what it wants of an object, the server merges that in, remembers who wants what,
// removes what the client no longer wants and nobody else does, and refuses to take fields from others unless forced.
import { isPlainObject } from '#lib'
import { apiVersionIn } from '../kinds/resource.ts'
import { type ApiObject, cloneJson, recordAt } from '../object.ts'
import { badRequest, type Cause, StatusError } from '../status.ts'
import { admitFields, checkIdentity } from '../write/admit.ts'
import type { WriteRequest } from '../write/context.ts'
import { createAdmitted } from '../write/create.ts'
import { readServed, update, type Written } from '../write/update.ts'
import { comparePaths, type FieldPath, joinPath, pathText, withParents } from './field-set.ts'
import {
  compareFields,
  difference,
  isSameOwner,
  type Owner,
  ownableFields,
  readOwners,
  withPaths,
} from './managed-fields.ts'
import { mergeTyped, withoutPaths } from './typed-merge.ts'

export function applyObject(request: WriteRequest, name: string, body: unknown, force: boolean): Written {
  if (!isPlainObject(body)) throw badRequest('the body of an apply patch must be one object')
  const { type, version, world } = request
  if (body['kind'] === undefined || body['apiVersion'] === undefined) {
    throw badRequest(`invalid object type: ${body['kind'] === undefined ? 'Kind' : 'apiVersion'} must not be empty`)
  }
  const config = checkIdentity(request, body)
  if ((config.metadata.managedFields ?? []).length > 0) throw badRequest('metadata.managedFields must be nil')
  config.metadata.name ||= name
  if (config.metadata.name !== name) {
    throw badRequest(`the name of the object (${config.metadata.name}) does not match the name on the URL (${name})`)
  }
  checkDeclared(request, body, config)
  const live = readServed(request, name)
  const owners = readOwners(live)
  const self = {
    manager: request.fieldManager,
    operation: 'Apply' as const,
    apiVersion: apiVersionIn(type, version.name),
    subresource: request.subresource ?? '',
  }
  const known = owners.find((owner) => isSameOwner(owner, self))
  const mine: Owner = { ...(known ?? { time: undefined, paths: new Set<FieldPath>() }), ...self }
  const others = owners.filter((owner) => owner !== known)
  const wanted = new Set(ownableFields(request, config).keys())

  const merged = mergeWanted(request, live, config, mine, others, wanted)
  const { changed, removed } = compareFields(
    live ? ownableFields(request, live) : new Map(),
    ownableFields(request, merged),
  )
  if (!force) checkConflicts(others, changed)
  const left = others.map((owner) => ({ ...owner, paths: difference(owner.paths, changed, removed) }))
  const applied = [...left, withPaths(mine, wanted, world.clock.now())]
  const write: WriteRequest = { ...request, applied }
  const admitted = admitFields(write, merged)
  if (live) return { object: update(write, live, admitted), created: false }
  return { object: createAdmitted(write, admitted), created: true }
}

/** An apply must not name fields that do not exist: nobody could own them. */
function checkDeclared({ type, version }: WriteRequest, body: Record<string, unknown>, config: ApiObject): void {
  const { unknown } = version.check.admit(cloneJson(config))
  if (unknown.length === 0) return
  const { namespace = '', name = '' } = recordAt(body, 'metadata') as { namespace?: string; name?: string }
  const what = `${namespace}/${name}; ${apiVersionIn(type, version.name)}, Kind=${type.kind}`
  const fields = unknown.map((path) => `.${path}: field not declared in schema`)
  const list = fields.length === 1 ? fields[0] : `errors:\n  ${fields.join('\n  ')}`
  throw new StatusError(500, '', `failed to create typed patch object (${what}): ${list}`)
}

function mergeWanted(
  { version }: WriteRequest,
  live: ApiObject | undefined,
  config: ApiObject,
  mine: Owner,
  others: readonly Owner[],
  wanted: ReadonlySet<FieldPath>,
): ApiObject {
  if (!live) return config
  const merged = mergeTyped(cloneJson(live), config, version.schema) as ApiObject
  // The live metadata has fields that schemas do not spell out.
  merged.metadata = { ...merged.metadata, managedFields: live.metadata.managedFields ?? [] }
  const kept = withParents([...wanted, ...others.flatMap((owner) => [...owner.paths])])
  const dropped = difference(withParents(mine.paths), kept, new Set([joinPath('f:metadata')]))
  return withoutPaths(merged, version.schema, dropped) as ApiObject
}

function checkConflicts(others: readonly Owner[], changed: ReadonlySet<FieldPath>): void {
  const clashes = others
    .map((owner) => ({ owner, paths: [...owner.paths].filter((path) => changed.has(path)).sort(comparePaths) }))
    .filter(({ paths }) => paths.length > 0)
  if (clashes.length === 0) return
  const causes: Cause[] = clashes.flatMap(({ owner, paths }) =>
    paths.map((path) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${ownerText(owner)}`,
      field: pathText(path),
    })),
  )
  const count = causes.length
  const parts = clashes.map(({ owner, paths }) => {
    if (paths.length === 1) return `conflict with ${ownerText(owner)}: ${pathText(paths[0]!)}`
    return `conflicts with ${ownerText(owner)}:\n${paths.map((path) => `- ${pathText(path)}`).join('\n')}`
  })
  const message = `Apply failed with ${count} conflict${count === 1 ? '' : 's'}: ${parts.join('\n')}`
  throw new StatusError(409, 'Conflict', message, { causes })
}

function ownerText({ manager, operation, apiVersion, subresource }: Owner): string {
  const where = subresource ? ` with subresource "${subresource}"` : ''
  return `${JSON.stringify(manager)}${where}${operation === 'Update' ? ` using ${apiVersion}` : ''}`
}
