// Lists declared as sets or as maps by key must not hold the same thing twice.
import { canonicalJson, isPlainObject, type Json } from '#lib'
import type { JsonSchema } from '../build.ts'
import { fault } from '../faults.ts'
import { badValue } from '../go-text.ts'
import type { Fault } from '../index.ts'

export function validateListTypes(value: Json, schema: JsonSchema | undefined, path = ''): Fault[] {
  if (!schema) return []
  if (Array.isArray(value)) return [...duplicates(value, schema, path), ...inItems(value, schema, path)]
  if (!isPlainObject(value)) return []
  const additional = schema.additionalProperties
  return (Object.entries(value) as [string, Json][]).flatMap(([key, item]) => {
    if (schema.properties && Object.hasOwn(schema.properties, key))
      return validateListTypes(item, schema.properties[key], path === '' ? key : `${path}.${key}`)
    return typeof additional === 'object' ? validateListTypes(item, additional, `${path}[${key}]`) : []
  })
}

function inItems(list: readonly Json[], schema: JsonSchema, path: string): Fault[] {
  return list.flatMap((item, i) => validateListTypes(item, schema.items, `${path}[${i}]`))
}

function duplicates(list: readonly Json[], schema: JsonSchema, path: string): Fault[] {
  const listType = schema['x-kubernetes-list-type']
  if (listType === 'set') return repeated(list).map((i) => fault('Duplicate', `${path}[${i}]`, badValue(list[i]!)))
  if (listType !== 'map') return []

  const odd = list.findIndex((item) => item !== null && !isPlainObject(item))
  if (odd >= 0)
    return [
      fault('Invalid', `${path}[${odd}]`, badValue(list[odd]!), 'must be an object for an array of list-type map'),
    ]
  const names = schema['x-kubernetes-list-map-keys'] ?? []
  const keys = list.map((item): Json => {
    const object = (item ?? {}) as Record<string, Json>
    return Object.fromEntries(names.filter((name) => Object.hasOwn(object, name)).map((name) => [name, object[name]!]))
  })
  return repeated(keys).map((i) => fault('Duplicate', `${path}[${i}]`, badValue(keys[i]!)))
}

/** The second occurrence of each value that stands more than once. */
function repeated(values: readonly Json[]): number[] {
  const seen = new Map<string, number>()
  return values.flatMap((value, i) => {
    const text = canonicalJson(value)
    const times = (seen.get(text) ?? 0) + 1
    seen.set(text, times)
    return times === 2 ? [i] : []
  })
}
