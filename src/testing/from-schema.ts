// Makes objects that fit a structural schema, for property tests and for comparing our engine with a real API server.
// CEL rules are not looked at: what they refuse is for the engine to say. damage.ts makes such as are nearly right.
import * as fc from 'fast-check'
import type { JsonSchema } from '#api'
import { isPlainObject, type Json } from '#lib'

const TEXT_OF_FORMAT: Readonly<Record<string, readonly string[]>> = {
  'date-time': ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.123+01:00'],
  date: ['2026-01-02'],
  duration: ['1h30m', '500ms', '22 ns'],
  byte: ['aGVsbG8=', 'aGk='],
  ipv4: ['10.0.0.1'],
  ipv6: ['fe80::1'],
  cidr: ['10.0.0.0/16'],
  uuid: ['7a0c0a3e-7e43-4a7c-8a0c-0a3e7e434a7c'],
  hostname: ['example.org'],
  email: ['a@example.org'],
  uri: ['https://example.org/a?b=c'],
  mac: ['00:1b:44:11:3a:b7'],
}

/** Values that satisfy every part of the schema except its CEL rules. */
export function fitting(schema: JsonSchema): fc.Arbitrary<Json> {
  const plain = notNull(schema)
  return schema.nullable && !schema.enum ? fc.oneof({ arbitrary: plain, weight: 9 }, fc.constant(null)) : plain
}

function notNull(schema: JsonSchema): fc.Arbitrary<Json> {
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema['x-kubernetes-int-or-string']) return fc.oneof(fc.integer(), text(schema))
  switch (schema.type) {
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return wholeNumber(schema)
    case 'number':
      return fc.oneof(wholeNumber(schema), fraction(schema))
    case 'string':
      return text(schema)
    case 'array':
      return list(schema)
    case 'object':
      return object(schema)
    default:
      return fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>
  }
}

function bounds(schema: JsonSchema): { min: number; max: number } {
  const min = Math.ceil(schema.minimum ?? -1000) + (schema.exclusiveMinimum ? 1 : 0)
  const max = Math.floor(schema.maximum ?? Math.max(1000, min + 1000)) - (schema.exclusiveMaximum ? 1 : 0)
  return { min, max: Math.max(min, max) }
}

function wholeNumber(schema: JsonSchema): fc.Arbitrary<number> {
  const { min, max } = bounds(schema)
  const step = schema.multipleOf ?? 1
  if (step === 1) return fc.integer({ min, max })
  return fc.integer({ min: Math.ceil(min / step), max: Math.floor(max / step) }).map((times) => times * step)
}

function fraction(schema: JsonSchema): fc.Arbitrary<number> {
  const { min, max } = bounds(schema)
  const step = schema.multipleOf ?? 0.25
  return fc.integer({ min: Math.ceil(min / step), max: Math.floor(max / step) }).map((times) => times * step)
}

/** ASCII mostly, and a few characters of two to four bytes. */
const letter = fc.oneof(
  { arbitrary: fc.string({ minLength: 1, maxLength: 1 }), weight: 9 },
  fc.constantFrom('é', '€', '😀', 'Ω'),
)

function text(schema: JsonSchema): fc.Arbitrary<string> {
  const { minLength = 0, maxLength = Math.max(12, minLength), pattern, format } = schema
  const known = format === undefined ? undefined : TEXT_OF_FORMAT[format]
  if (known) return fc.constantFrom(...known)
  const size = { minLength, maxLength: Math.min(maxLength, minLength + 40) }
  if (pattern === undefined) return fc.string({ ...size, unit: letter }).filter((value) => fits(value, schema))
  return fc.stringMatching(new RegExp(pattern, 'u')).filter((value) => fits(value, schema))
}

function fits(value: string, { minLength = 0, maxLength = Number.POSITIVE_INFINITY }: JsonSchema): boolean {
  const length = [...value].length
  return length >= minLength && length <= maxLength
}

function list(schema: JsonSchema): fc.Arbitrary<Json> {
  const { items = {}, minItems: minLength = 0, maxItems = minLength + 3 } = schema
  const size = { minLength, maxLength: Math.min(maxItems, minLength + 3) }
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  switch (schema['x-kubernetes-list-type']) {
    case 'set':
      return fc.uniqueArray(fitting(items), { ...size, selector: (value) => JSON.stringify(value) })
    case 'map':
      return fc.uniqueArray(fitting(items), {
        ...size,
        selector: (value) => JSON.stringify(keys.map((key) => keyOf(value, key, items))),
      })
    default:
      return fc.array(fitting(items), size)
  }
}

function keyOf(value: Json, key: string, items: JsonSchema): Json {
  return (isPlainObject(value) ? (value[key] as Json) : undefined) ?? items.properties?.[key]?.default ?? null
}

function object(schema: JsonSchema): fc.Arbitrary<Json> {
  const { minProperties = 0, maxProperties = Number.POSITIVE_INFINITY } = schema
  const isSized = (value: Json) => {
    const size = Object.keys(value as object).length
    return size >= minProperties && size <= maxProperties
  }
  const additional = schema.additionalProperties
  const key = fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/)
  if (additional !== undefined && additional !== false) {
    const value = additional === true ? (fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>) : fitting(additional)
    return fc
      .dictionary(key, value, {
        minKeys: minProperties,
        maxKeys: Math.min(maxProperties, minProperties + 3),
        noNullPrototype: true,
      })
      .filter(isSized)
  }
  const fields = Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, field]) => [name, fitting(field)]),
  )
  const requiredKeys = (schema.required ?? []).filter((name) => Object.hasOwn(fields, name))
  const known = fc.record(fields, { requiredKeys, noNullPrototype: true })
  if (!schema['x-kubernetes-preserve-unknown-fields']) return known.filter(isSized)
  const resource: Record<string, Json> = schema['x-kubernetes-embedded-resource']
    ? { apiVersion: 'v1', kind: 'ConfigMap' }
    : {}
  const unknown = key.filter((name) => !Object.hasOwn(fields, name))
  return fc
    .tuple(
      fc.dictionary(unknown, fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>, {
        maxKeys: 2,
        noNullPrototype: true,
      }),
      known,
    )
    .map(([extra, own]): Json => ({ ...extra, ...resource, ...own }))
    .filter(isSized)
}
