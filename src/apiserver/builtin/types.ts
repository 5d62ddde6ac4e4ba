// Reads types.generated.json into schemas. A type that several kinds use is one shared node, and a type may contain
// itself: code that walks these schemas follows a value, never the schema alone.
//
// Letters (a capital one may be absent, the others are zero instead): s string, i int32, l int64, n number, b boolean, y base64, t time, u time with microseconds, q quantity,
// x integer or string, * anything. `#T` is a type, `%T` one that is replaced whole, `{}X` a map, `{a}X` one replaced
// whole, `[…]X` a list: m:KEYS by key, s a set, a replaced whole; p:KEY merges in strategic patches, r keeps its keys.
import type { JsonSchema } from '#api'
import types from './types.generated.json' with { type: 'json' }

export interface TypeSchema extends JsonSchema {
  readonly 'x-kubernetes-patch-merge-key'?: string
  readonly 'x-kubernetes-patch-strategy'?: string
}

interface RawType {
  readonly f: Readonly<Record<string, string>>
  readonly r?: readonly string[]
  readonly a?: number
}
const RAW = types as unknown as Readonly<Record<string, RawType>>

const SCALARS: Readonly<Record<string, JsonSchema>> = {
  s: { type: 'string' },
  i: { type: 'integer', format: 'int32' },
  l: { type: 'integer', format: 'int64' },
  n: { type: 'number', format: 'double' },
  b: { type: 'boolean' },
  y: { type: 'string', format: 'byte' },
  t: { type: 'string', format: 'date-time' },
  u: { type: 'string', format: 'micro-time' },
  q: { 'x-kubernetes-int-or-string': true, format: 'quantity' },
  x: { 'x-kubernetes-int-or-string': true },
  '*': { 'x-kubernetes-preserve-unknown-fields': true },
}

const known = new Map<string, JsonSchema>()
const names = new WeakMap<JsonSchema, string>()

/** The schema of a type such as `core.v1.Pod`. */
export function typeSchema(name: string): JsonSchema {
  const ready = known.get(name)
  if (ready) return ready
  const raw = RAW[name]
  if (!raw) throw new Error(`no built-in type ${name}`)
  const properties: Record<string, JsonSchema> = {}
  const schema: JsonSchema = {
    type: 'object',
    properties,
    ...(raw.r ? { required: raw.r } : {}),
    ...(raw.a ? { 'x-kubernetes-map-type': 'atomic' } : {}),
  }
  known.set(name, schema)
  names.set(schema, name)
  for (const [field, code] of Object.entries(raw.f)) {
    if (!field.startsWith('^')) properties[field] = readCode(code.slice(code.indexOf(' ') + 1))
  }
  // The one key of a keyed list that may be left out.
  if (properties['protocol']) properties['protocol'] = { ...properties['protocol'], default: 'TCP' }
  return schema
}

/** The schema of a whole object: the type, with apiVersion and kind. */
export function objectSchema(name: string): JsonSchema {
  const key = `${name}!`
  const ready = known.get(key)
  if (ready) return ready
  const type = typeSchema(name)
  const schema: JsonSchema = {
    ...type,
    properties: { apiVersion: SCALARS['s']!, kind: SCALARS['s']!, ...type.properties },
  }
  known.set(key, schema)
  names.set(schema, name)
  return schema
}

/** `core.v1.PodSpec` for the schema node of that type; undefined for an anonymous node. */
export function typeName(schema: JsonSchema): string | undefined {
  return names.get(schema)
}

export function wireFields(name: string): Readonly<Record<string, string>> | undefined {
  return RAW[name]?.f
}

function readCode(code: string): TypeSchema {
  const scalar = SCALARS[code] ?? SCALARS[code.toLowerCase()]
  if (scalar) return scalar
  if (code.startsWith('#') || code.startsWith('%')) return typeSchema(code.slice(1))
  const close = code.indexOf(code.startsWith('[') ? ']' : '}')
  const options = code.slice(1, close)
  const inner = readCode(code.slice(close + 1))
  if (code.startsWith('{')) {
    const atomic = options === 'a' ? ({ 'x-kubernetes-map-type': 'atomic' } as const) : {}
    return { type: 'object', additionalProperties: inner, ...atomic }
  }
  const parts = options.split(';')
  const keys = parts.find((part) => part.startsWith('m:'))?.slice(2)
  const merge = parts.find((part) => part.startsWith('p:'))?.slice(2)
  const strategy = [...(merge === undefined ? [] : ['merge']), ...(parts.includes('r') ? ['retainKeys'] : [])]
  return {
    type: 'array',
    items: inner,
    'x-kubernetes-list-type': keys !== undefined ? 'map' : parts.includes('s') ? 'set' : 'atomic',
    ...(keys === undefined ? {} : { 'x-kubernetes-list-map-keys': keys.split('+') }),
    ...(merge ? { 'x-kubernetes-patch-merge-key': merge } : {}),
    ...(strategy.length > 0 ? { 'x-kubernetes-patch-strategy': strategy.join(',') } : {}),
  }
}
