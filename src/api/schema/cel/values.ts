// Turns JSON into the values CEL rules see, led by the schema: integers, timestamps, durations and bytes have their own types.
// Objects become Maps, so that no field name can be mistaken for a property of a JavaScript object.
import { Duration } from '@marcbachmann/cel-js/evaluator'
import { canonicalJson, isPlainObject, type Json, ownValue } from '#lib'
import type { JsonSchema } from '../build.ts'
import { findByKeys } from '../correlate.ts'
import { durationNanos } from '../values/formats.ts'

const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)
const ESCAPES: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
}

/** The name a rule uses for a field; undefined when no rule can name it. */
export function escapeName(name: string): string | undefined {
  if (name === '' || /^[0-9]/.test(name)) return undefined
  if (RESERVED.has(name)) return `__${name}__`
  if (/[^a-zA-Z0-9_./-]/.test(name)) return undefined
  return name.replace(/__|[./-]/g, (part) => ESCAPES[part]!)
}

const METADATA: JsonSchema = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
}
const RESOURCE_FIELDS: Readonly<Record<string, JsonSchema>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: METADATA,
}

/** The fields a rule may name on an object; a whole resource has its type and its name besides its own. */
export function fieldsOf(schema: JsonSchema, isResource: boolean): Readonly<Record<string, JsonSchema>> | undefined {
  if (!isResource) return schema.properties
  return { ...schema.properties, ...RESOURCE_FIELDS }
}

export function isResource(schema: JsonSchema): boolean {
  return schema['x-kubernetes-embedded-resource'] === true
}

/** Stands for what cannot be read as its schema says: every use of it in a rule is this error. */
function invalidData(message: string): unknown {
  return Object.create(null, {
    constructor: {
      get() {
        throw new Error(message)
      },
    },
  })
}

export function toCel(value: Json, schema: JsonSchema, isWholeResource: boolean): unknown {
  if (value === null) return null
  if (Array.isArray(value)) {
    const { items } = schema
    // The server takes a list where a formatted string belongs; a rule that reads it fails.
    if (schema.type === 'string') return invalidData('invalid data, expected string, got []interface {}')
    return value.map((item: Json) => (items ? toCel(item, items, isResource(items)) : rawToCel(item)))
  }
  if (isPlainObject(value)) return objectToCel(value as Record<string, Json>, schema, isWholeResource)
  if (typeof value === 'number') return numberToCel(value, schema)
  if (typeof value === 'bigint') return schema.type === 'number' ? Number(value) : value
  if (typeof value === 'string' && schema.type === 'string') return stringToCel(value, schema.format)
  return value
}

function objectToCel(object: Readonly<Record<string, Json>>, schema: JsonSchema, isWholeResource: boolean): unknown {
  const fields = fieldsOf(schema, isWholeResource)
  const additional = schema.additionalProperties
  const out = new Map<string, unknown>()
  for (const [key, item] of Object.entries(object)) {
    // A null field counts as absent; a null entry of a map does not.
    if (item === null && fields) continue
    const field = ownValue(fields, key)
    if (field) {
      // metadata is more than a rule may see
      if (isWholeResource && key === 'metadata' && isPlainObject(item)) {
        const { name, generateName } = item as Record<string, Json>
        const seen = {
          ...(name === undefined ? {} : { name }),
          ...(generateName === undefined ? {} : { generateName }),
        }
        out.set(key, toCel(seen, METADATA, false))
      } else out.set(escapeName(key) ?? key, toCel(item, field, isResource(field)))
    } else if (typeof additional === 'object') out.set(key, toCel(item, additional, isResource(additional)))
    else out.set(key, rawToCel(item))
  }
  return out
}

function numberToCel(value: number, schema: JsonSchema): unknown {
  if (schema.type === 'number') return value
  return Number.isInteger(value) ? BigInt(value) : value
}

function stringToCel(text: string, format: string | undefined): unknown {
  switch (format) {
    case 'byte':
      return new Uint8Array(Buffer.from(text, 'base64'))
    case 'date':
    case 'date-time': {
      const time = new Date(text)
      return Number.isNaN(time.getTime()) ? invalidData(`Invalid ${format} formatted string ${text}`) : time
    }
    case 'duration': {
      const nanos = durationNanos(text)
      if (nanos === undefined) return invalidData(`Invalid duration ${text}: unable to parse ${text} as duration`)
      return new Duration(nanos / 1_000_000_000n, Number(nanos % 1_000_000_000n))
    }
    default:
      return text
  }
}

/** Values no schema speaks of can only be compared. */
function rawToCel(value: Json): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value
  if (Array.isArray(value)) return value.map((item: Json) => rawToCel(item))
  if (!isPlainObject(value)) return value
  return new Map((Object.entries(value) as [string, Json][]).map(([key, item]) => [key, rawToCel(item)]))
}

/**
 * The old value with its sets and map lists in the order of the new one: their order means nothing,
 * so `self == oldSelf` must not see it.
 */
export function alignOld(old: Json, value: Json, schema: JsonSchema): Json {
  if (Array.isArray(old) && Array.isArray(value)) return alignList(old, value, schema)
  if (!isPlainObject(old) || !isPlainObject(value)) return old
  const additional = schema.additionalProperties
  const entries = (Object.entries(old) as [string, Json][]).map(([key, item]): [string, Json] => {
    const child = ownValue(schema.properties, key) ?? (typeof additional === 'object' ? additional : undefined)
    const now = ownValue(value, key) as Json | undefined
    return [key, child && now !== undefined ? alignOld(item, now, child) : item]
  })
  return Object.fromEntries(entries)
}

function alignList(old: readonly Json[], value: readonly Json[], schema: JsonSchema): Json {
  const { items, 'x-kubernetes-list-type': listType } = schema
  if (listType !== 'set' && listType !== 'map') return old
  const rest = new Set(old)
  const paired: Json[] = []
  const texts = listType === 'set' ? new Map(old.map((item) => [canonicalJson(item), item])) : undefined
  for (const item of value) {
    const same = texts ? texts.get(canonicalJson(item)) : findByKeys(schema, old, item)
    if (same === undefined || !rest.delete(same)) continue
    paired.push(items ? alignOld(same, item, items) : same)
  }
  return [...paired, ...rest]
}
