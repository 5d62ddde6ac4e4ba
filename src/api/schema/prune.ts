// Takes away what the schema does not know, and says which fields those were.
// Object metadata is known by its own table, because no CRD spells it out.

import { isPlainObject, type Json, setOwnValue } from '#lib'
import { isEmbedded, type JsonSchema } from './build.ts'

type Mutable = Record<string, Json>

const METADATA: ReadonlySet<string> = new Set([
  ...['name', 'generateName', 'namespace', 'selfLink', 'uid', 'resourceVersion', 'generation', 'creationTimestamp'],
  ...['deletionTimestamp', 'deletionGracePeriodSeconds', 'labels', 'annotations', 'finalizers'],
  ...['ownerReferences', 'managedFields'],
])

/** Fields of the entries of these lists. */
const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  ownerReferences: ['apiVersion', 'kind', 'name', 'uid', 'controller', 'blockOwnerDeletion'],
  managedFields: ['manager', 'operation', 'apiVersion', 'time', 'fieldsType', 'fieldsV1', 'subresource'],
}

const RESOURCE_FIELDS = new Set(['apiVersion', 'kind', 'metadata'])

export function prune(value: Json, schema: JsonSchema): { value: Json; unknown: string[] } {
  const unknown: string[] = []
  const copy = pruneNode(value, schema, '', true, unknown)
  return { value: copy, unknown: unknown.sort() }
}

function pruneNode(
  value: Json,
  schema: JsonSchema | undefined,
  path: string,
  isResource: boolean,
  unknown: string[],
): Json {
  const keepsUnknown = schema?.['x-kubernetes-preserve-unknown-fields'] === true
  if (Array.isArray(value)) {
    const items = schema?.items
    if (keepsUnknown && items === undefined) return value
    // Inside a list that keeps unknown fields, the items keep theirs too.
    const itemSchema = keepsUnknown && items ? { ...items, 'x-kubernetes-preserve-unknown-fields': true } : items
    return value.map((item: Json, i) => pruneNode(item, itemSchema, `${path}[${i}]`, isEmbedded(items), unknown))
  }
  if (!isPlainObject(value)) return value

  const out: Mutable = {}
  const additional = schema?.additionalProperties
  for (const [key, item] of Object.entries(value) as [string, Json][]) {
    const at = path === '' ? key : `${path}.${key}`
    if (isResource && RESOURCE_FIELDS.has(key)) {
      out[key] = key === 'metadata' ? pruneMetadata(item, at, unknown) : item
      continue
    }
    const property = schema?.properties && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined
    if (property) setOwnValue(out, key, pruneNode(item, property, at, isEmbedded(property), unknown))
    else if (additional === true) setOwnValue(out, key, pruneNode(item, undefined, at, false, unknown))
    else if (additional) setOwnValue(out, key, pruneNode(item, additional, at, isEmbedded(additional), unknown))
    else if (keepsUnknown) setOwnValue(out, key, item)
    else unknown.push(at)
  }
  return out
}

function pruneMetadata(value: Json, path: string, unknown: string[]): Json {
  if (!isPlainObject(value)) return value
  const out: Mutable = {}
  for (const [key, item] of Object.entries(value) as [string, Json][]) {
    const fields = ENTRIES[key]
    if (!METADATA.has(key)) unknown.push(`${path}.${key}`)
    else if (!fields || !Array.isArray(item)) out[key] = item
    else out[key] = item.map((entry: Json, i) => pruneEntry(entry, fields, `${path}.${key}[${i}]`, unknown))
  }
  return out
}

function pruneEntry(value: Json, known: readonly string[], path: string, unknown: string[]): Json {
  if (!isPlainObject(value)) return value
  const out: Mutable = {}
  for (const [key, item] of Object.entries(value) as [string, Json][]) {
    if (known.includes(key)) out[key] = item
    else unknown.push(`${path}.${key}`)
  }
  return out
}
