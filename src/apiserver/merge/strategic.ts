// Kubernetes' own merge patch for built-in kinds: lists merge by the key their type names, and directives
// (`$patch`, `$retainKeys`, `$setElementOrder/x`, `$deleteFromPrimitiveList/x`) say what merging alone cannot.
import { isPlainObject, ownValue, setOwnValue } from '#lib'
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
    else
      setOwnValue(
        out,
        field,
        mergeField(ownValue(out, field), value, fieldOf(schema, field), patch[`${ORDER}${field}`]),
      )
  }
  for (const [directive, values] of Object.entries(patch)) {
    if (!Array.isArray(values)) continue
    const field = directive.slice(directive.indexOf('/') + 1)
    const list = ownValue(out, field)
    if (directive.startsWith(DELETE) && Array.isArray(list)) {
      const dropped = new Set(values)
      setOwnValue(
        out,
        field,
        list.filter((item) => !dropped.has(item)),
      )
    }
    if (directive.startsWith(ORDER) && ownValue(patch, field) === undefined && Array.isArray(list)) {
      setOwnValue(out, field, reorder(list, values, list, fieldOf(schema, field)))
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
  if (key === undefined || key === '') {
    const known = new Set(old)
    return [...old, ...patch.filter((item) => !known.has(item))]
  }
  if (patch.some((item) => isPlainObject(item) && item['$patch'] === 'replace')) {
    return patch.filter((item) => !(isPlainObject(item) && item['$patch'] === 'replace')).map(withoutDirectives)
  }
  const out: unknown[] = [...old]
  const places = new Map<unknown, number>()
  for (const [i, item] of out.entries()) {
    const name = isPlainObject(item) ? ownValue(item, key) : undefined
    if (name !== undefined && !places.has(name)) places.set(name, i)
  }
  for (const item of patch) {
    if (!isPlainObject(item)) throw badRequest('a list that merges by key takes objects only')
    const name = ownValue(item, key)
    if (name === undefined) throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`)
    const at = places.get(name)
    if (item['$patch'] === 'delete') {
      if (at !== undefined) out[at] = DELETED
      places.delete(name)
    } else if (at !== undefined) out[at] = strategicMerge(out[at], item, schema.items)
    else places.set(name, out.push(strategicMerge({}, item, schema.items)) - 1)
  }
  return out.filter((item) => item !== DELETED)
}

const DELETED = Symbol('deleted')

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
  const nameOf = (item: unknown) => JSON.stringify(key && isPlainObject(item) ? ownValue(item, key) : item)
  const wanted = placesOf(order.map(nameOf))
  const earlier = placesOf(before.map(nameOf))
  const names = new Map(list.map((item) => [item, nameOf(item)]))
  const placeIn = (places: ReadonlyMap<string, number>, item: unknown) => places.get(names.get(item)!) ?? -1
  const named = list
    .filter((item) => placeIn(wanted, item) >= 0)
    .sort((a, b) => placeIn(wanted, a) - placeIn(wanted, b))
  const stayed = list.filter((item) => placeIn(wanted, item) < 0)
  const out: unknown[] = []
  let [i, j] = [0, 0]
  while (i < named.length && j < stayed.length) {
    const at = placeIn(earlier, named[i])
    out.push(at >= 0 && placeIn(earlier, stayed[j]) < at ? stayed[j++] : named[i++])
  }
  return [...out, ...named.slice(i), ...stayed.slice(j)]
}

/** The first place of every name. */
function placesOf(names: readonly string[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>()
  for (const [i, name] of names.entries()) if (!places.has(name)) places.set(name, i)
  return places
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
