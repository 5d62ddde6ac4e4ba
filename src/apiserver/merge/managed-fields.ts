// Who set which field. Every write is attributed to its field manager: an apply owns exactly what it names, any other
// write owns what it changed. Entries are kept in metadata.managedFields, as kubectl and controllers expect them.
import { jsonEqual, toTimestamp } from '#lib'
import type { ApiObject, ManagedFields } from '../object.ts'
import type { WriteRequest } from '../write/context.ts'
import {
  containersOf,
  type FieldPath,
  type FieldSet,
  fieldsOf,
  fromFieldsV1,
  joinPath,
  toFieldsV1,
} from './field-set.ts'

export interface Owner {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource: string
  readonly time: string | undefined
  readonly paths: ReadonlySet<FieldPath>
}

/** Fields that belong to the server or name the object: nobody owns them. */
const UNOWNED = new Set([
  joinPath('f:apiVersion'),
  joinPath('f:kind'),
  joinPath('f:metadata'),
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'generation',
    'managedFields',
    'resourceVersion',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ].map((field) => joinPath('f:metadata', `f:${field}`)),
])

/** Fields of the object that can have an owner in this request: without the status, or only the status. */
export function ownableFields({ version, subresource }: WriteRequest, object: ApiObject, containers = false): FieldSet {
  const status = joinPath('f:status')
  const isStatus = (path: FieldPath) => path === status || path.startsWith(`${status}\u0000`)
  const all = new Map(fieldsOf(object, version.schema))
  if (containers) for (const path of containersOf(object, version.schema)) all.set(path, undefined)
  const fields = [...all].filter(([path]) => {
    if (UNOWNED.has(path) || path.startsWith(joinPath('f:metadata', 'f:managedFields'))) return false
    if (subresource === 'status') return isStatus(path)
    return !(version.status && isStatus(path))
  })
  return new Map(fields)
}

export function readOwners(object: ApiObject | undefined): readonly Owner[] {
  return (object?.metadata.managedFields ?? []).map((entry) => ({
    manager: entry.manager ?? '',
    operation: entry.operation,
    apiVersion: entry.apiVersion,
    subresource: entry.subresource ?? '',
    time: entry.time,
    paths: fromFieldsV1(entry.fieldsV1),
  }))
}

function writeOwners(object: ApiObject, owners: readonly Owner[]): void {
  const entries = owners.filter((owner) => owner.paths.size > 0).map(toEntry)
  entries.sort((a, b) => compare(orderOf(a), orderOf(b)))
  if (entries.length > 0) object.metadata.managedFields = entries
  else delete object.metadata.managedFields
}

const orderOf = ({ operation, time = '', manager = '', apiVersion, subresource = '' }: ManagedFields) =>
  [operation, time, manager, apiVersion, subresource].join('\u0000')
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

function toEntry({ manager, operation, apiVersion, subresource, time, paths }: Owner): ManagedFields {
  return {
    manager,
    operation,
    apiVersion,
    ...(time ? { time } : {}),
    fieldsType: 'FieldsV1',
    fieldsV1: toFieldsV1(paths),
    ...(subresource ? { subresource } : {}),
  }
}

interface Difference {
  /** Added or changed. */
  readonly changed: ReadonlySet<FieldPath>
  readonly removed: ReadonlySet<FieldPath>
}

export function compareFields(before: FieldSet, after: FieldSet): Difference {
  const changed = [...after].filter(([path, value]) => !before.has(path) || !jsonEqual(before.get(path), value))
  const removed = [...before.keys()].filter((path) => !after.has(path))
  return { changed: new Set(changed.map(([path]) => path)), removed: new Set(removed) }
}

export const isSameOwner = (a: Omit<Owner, 'paths' | 'time'>, b: Omit<Owner, 'paths' | 'time'>) =>
  a.manager === b.manager &&
  a.operation === b.operation &&
  a.subresource === b.subresource &&
  (a.operation === 'Apply' || a.apiVersion === b.apiVersion)

/** The owner with other paths; its time moves only when they differ. */
export function withPaths(owner: Owner, paths: ReadonlySet<FieldPath>, now: number): Owner {
  const same = paths.size === owner.paths.size && [...paths].every((path) => owner.paths.has(path))
  return same ? owner : { ...owner, paths, time: toTimestamp(now) }
}

export const difference = (a: ReadonlySet<FieldPath>, ...others: readonly ReadonlySet<FieldPath>[]) =>
  new Set([...a].filter((path) => !others.some((other) => other.has(path))))

/** Attributes the fields that a create, update or patch changed, and removes them from their previous owners. */
export function trackUpdate(request: WriteRequest, old: ApiObject | undefined, next: ApiObject): void {
  writeOwners(next, request.applied ?? ownersAfter(request, old, next))
}

function ownersAfter(request: WriteRequest, old: ApiObject | undefined, next: ApiObject): readonly Owner[] {
  const given = request.subresource ? undefined : next.metadata.managedFields
  // One empty entry is the documented way to forget all owners.
  if (given?.length === 1 && Object.keys(given[0]!).length === 0) return []
  const base = readOwners(given && given.length > 0 ? next : old)
  const before = old ? ownableFields(request, old, true) : new Map<FieldPath, unknown>()
  const { changed, removed } = compareFields(before, ownableFields(request, next, true))
  const now = request.world.clock.now()
  const self = {
    manager: request.fieldManager,
    operation: 'Update' as const,
    apiVersion: next.apiVersion,
    subresource: request.subresource ?? '',
  }
  const mine = base.find((owner) => isSameOwner(owner, self)) ?? {
    ...self,
    time: undefined,
    paths: new Set<FieldPath>(),
  }
  const others = base
    .filter((owner) => owner !== mine)
    .map((owner) => ({ ...owner, paths: difference(owner.paths, changed, removed) }))
  const paths = new Set([...difference(mine.paths, removed), ...changed])
  return [...others, withPaths(mine, paths, now)]
}
