// How a value is merged, read off its schema: field by field, item by item, or as a whole.
import type { JsonSchema } from '#api'
import { isPlainObject, ownValue, setOwnValue } from '#lib'

type ListShape =
  | { readonly is: 'atomic' }
  | { readonly is: 'set' }
  | { readonly is: 'map'; readonly keys: readonly string[] }

export function listShape(schema: JsonSchema | undefined): ListShape {
  const kind = schema?.['x-kubernetes-list-type']
  if (kind === 'set') return { is: 'set' }
  const keys = schema?.['x-kubernetes-list-map-keys']
  return kind === 'map' && keys && keys.length > 0 ? { is: 'map', keys } : { is: 'atomic' }
}

export function isAtomicMap(schema: JsonSchema | undefined): boolean {
  return schema?.['x-kubernetes-map-type'] === 'atomic'
}

/** The schema of a field, and whether the schema names it (a struct) or merely allows it (a map). */
export function fieldSchema(
  schema: JsonSchema | undefined,
  field: string,
): { schema: JsonSchema; named: boolean } | undefined {
  const property = ownValue(schema?.properties, field)
  if (property) return { schema: property, named: true }
  const items = schema?.additionalProperties
  if (items !== undefined && items !== false) return { schema: items === true ? UNTYPED : items, named: false }
  // Without any schema below, the whole inside is deduced from the value: maps merge, lists are replaced.
  return keepsUnknown(schema) ? { schema: UNTYPED, named: false } : undefined
}

const UNTYPED: JsonSchema = { 'x-kubernetes-preserve-unknown-fields': true }

function keepsUnknown(schema: JsonSchema | undefined): boolean {
  return schema === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true
}

/** Keys of an item, with the schema's defaults for those it leaves out. Undefined when one is missing. */
export function itemKey(item: unknown, keys: readonly string[], schema: JsonSchema | undefined): string | undefined {
  if (!isPlainObject(item)) return undefined
  const found: Record<string, unknown> = {}
  for (const key of [...keys].sort()) {
    const value = ownValue(item, key) ?? ownValue(schema?.properties, key)?.default
    if (value !== undefined && value !== null) setOwnValue(found, key, value)
  }
  return Object.keys(found).length === 0 ? undefined : JSON.stringify(found)
}
