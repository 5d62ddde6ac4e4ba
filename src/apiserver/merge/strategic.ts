// Kubernetes' own merge patch for built-in kinds: lists merge by the key their type names, and directives
// (`$patch`, `$retainKeys`, `$setElementOrder/x`, `$deleteFromPrimitiveList/x`) say what merging alone cannot.
import { isPlainObject } from '#lib'
import type { TypeSchema } from '../builtin/types.ts'
import { badRequest } from '../status.ts'

const ORDER = '$setElementOrder/'
const DELETE = '$deleteFromPrimitiveList/'
type Fields = Record<string, unknown>

export function strategicMerge(target: unknown, patch: Fields, schema: TypeSchema | undefined): unknown {
  if (patch['$patch'] === 'replace') return withoutDirectives(patch)
  if (patch['$patch'] === 'delete') return {}
  const out: Fields = isPlainObject(target) ? { ...target } : {}
  const retained = patch['$retainKeys']
  if (Array.isArray(retained)) for (const field of Object.keys(out)) if (!retained.includes(field)) delete out[field]

  for (const [field, value] of Object.entries(patch)) {
    if (field.startsWith('$')) continue
    if (value === null) delete out[field]
    else out[field] = mergeField(out[field], value, fieldOf(schema, field), patch[`${ORDER}${field}`])
  }
  for (const [directive, values] of Object.entries(patch)) {
    if (!Array.isArray(values)) continue
    const field = directive.slice(directive.indexOf('/') + 1)
    const list = out[field]
    if (directive.startsWith(DELETE) && Array.isArray(list)) out[field] = list.filter((item) => !values.includes(item))
    if (directive.startsWith(ORDER) && patch[field] === undefined && Array.isArray(list)) {
      out[field] = reorder(list, values, list, fieldOf(schema, field))
    }
  }
  return out
}

function fieldOf(schema: TypeSchema | undefined, field: string): TypeSchema | undefined {
  const property = schema?.properties && Object.hasOwn(schema.properties, field) ? schema.properties[field] : undefined
  return property ?? (typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined)
}

function mergeField(old: unknown, value: unknown, schema: TypeSchema | undefined, order: unknown): unknown {
  if (isPlainObject(value)) return strategicMerge(old, value, schema)
  if (!Array.isArray(value)) return value
  if (!schema?.['x-kubernetes-patch-strategy']?.includes('merge')) return value.map(withoutDirectives)
  const before: readonly unknown[] = Array.isArray(old) ? old : []
  return reorder(mergeList(before, value, schema), Array.isArray(order) ? order : value, before, schema)
}

function mergeList(old: readonly unknown[], patch: readonly unknown[], schema: TypeSchema): unknown[] {
  const key = schema['x-kubernetes-patch-merge-key']
  if (key === undefined || key === '') return [...old, ...patch.filter((item) => !old.includes(item))]
  if (patch.some((item) => isPlainObject(item) && item['$patch'] === 'replace')) {
    return patch.filter((item) => !(isPlainObject(item) && item['$patch'] === 'replace')).map(withoutDirectives)
  }
  const out = [...old]
  for (const item of patch) {
    if (!isPlainObject(item)) throw badRequest('a list that merges by key takes objects only')
    if (item[key] === undefined)
      throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`)
    const at = out.findIndex((candidate) => isPlainObject(candidate) && candidate[key] === item[key])
    if (item['$patch'] === 'delete') {
      if (at >= 0) out.splice(at, 1)
    } else if (at >= 0) out[at] = strategicMerge(out[at], item, schema.items)
    else out.push(strategicMerge({}, item, schema.items))
  }
  return out
}

/**
 * Items the order names, in that order, merged with the others in the order they had. An item that is new comes before
 * one that merely stayed.
 */
function reorder(
  list: readonly unknown[],
  order: readonly unknown[],
  before: readonly unknown[],
  schema: TypeSchema | undefined,
): unknown[] {
  const key = schema?.['x-kubernetes-patch-merge-key']
  const nameOf = (item: unknown) => JSON.stringify(key && isPlainObject(item) ? item[key] : item)
  const wanted = order.map(nameOf)
  const earlier = before.map(nameOf)
  const named = list
    .filter((item) => wanted.includes(nameOf(item)))
    .sort((a, b) => wanted.indexOf(nameOf(a)) - wanted.indexOf(nameOf(b)))
  const stayed = list.filter((item) => !wanted.includes(nameOf(item)))
  const out: unknown[] = []
  while (named.length > 0 && stayed.length > 0) {
    const at = earlier.indexOf(nameOf(named[0]))
    out.push(at >= 0 && earlier.indexOf(nameOf(stayed[0])) < at ? stayed.shift() : named.shift())
  }
  return [...out, ...named, ...stayed]
}

function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value))
    return value.filter((item) => !(isPlainObject(item) && item['$patch'] === 'delete')).map(withoutDirectives)
  if (!isPlainObject(value)) return value
  const kept = Object.entries(value).filter(
    ([field]) => !/^\$(patch|retainKeys|setElementOrder\/|deleteFromPrimitiveList\/)/.test(field),
  )
  return Object.fromEntries(kept.map(([field, inner]) => [field, withoutDirectives(inner)]))
}
