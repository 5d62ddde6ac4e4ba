// Takes away what the schema does not know, and says which fields those were.
// Object metadata is known by its own table, because no CRD spells it out.

import type { Json } from '#lib'
import { isPlainObject, setOwnValue } from '#lib'
import type { JsonSchema } from './build.ts'

type Mutable = Record<string, Json>

const METADATA: Readonly<Record<string, true | Readonly<Record<string, true>>>> = {
  name: true,
  generateName: true,
  namespace: true,
  selfLink: true,
  uid: true,
  resourceVersion: true,
  generation: true,
  creationTimestamp: true,
  deletionTimestamp: true,
  deletionGracePeriodSeconds: true,
  labels: true,
  annotations: true,
  finalizers: true,
  ownerReferences: {
    apiVersion: true,
    kind: true,
    name: true,
    uid: true,
    controller: true,
    blockOwnerDeletion: true,
  },
  managedFields: {
    manager: true,
    operation: true,
    apiVersion: true,
    time: true,
    fieldsType: true,
    fieldsV1: true,
    subresource: true,
  },
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
    return value.map((item: Json, i) => pruneNode(item, itemSchema, `${path}[${i}]`, isResourceSchema(items), unknown))
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
    if (property) setOwnValue(out, key, pruneNode(item, property, at, isResourceSchema(property), unknown))
    else if (additional === true) setOwnValue(out, key, pruneNode(item, undefined, at, false, unknown))
    else if (additional) setOwnValue(out, key, pruneNode(item, additional, at, isResourceSchema(additional), unknown))
    else if (keepsUnknown) setOwnValue(out, key, item)
    else unknown.push(at)
  }
  return out
}

function isResourceSchema(schema: JsonSchema | undefined): boolean {
  return schema?.['x-kubernetes-embedded-resource'] === true
}

function pruneMetadata(value: Json, path: string, unknown: string[]): Json {
  if (!isPlainObject(value)) return value
  const out: Mutable = {}
  for (const [key, item] of Object.entries(value) as [string, Json][]) {
    const known = Object.hasOwn(METADATA, key) ? METADATA[key] : undefined
    if (known === undefined) unknown.push(`${path}.${key}`)
    else if (known === true || !Array.isArray(item)) out[key] = item
    else out[key] = item.map((entry: Json, i) => pruneEntry(entry, known, `${path}.${key}[${i}]`, unknown))
  }
  return out
}

function pruneEntry(value: Json, known: Readonly<Record<string, true>>, path: string, unknown: string[]): Json {
  if (!isPlainObject(value)) return value
  const out: Mutable = {}
  for (const [key, item] of Object.entries(value) as [string, Json][]) {
    if (Object.hasOwn(known, key)) out[key] = item
    else unknown.push(`${path}.${key}`)
  }
  return out
}
