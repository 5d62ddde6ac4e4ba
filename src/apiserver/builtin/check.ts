// Decodes a built-in object as Go would: unknown fields are dropped and named, null is absent, a value of the wrong type
// is refused with the field it stands in. Meaning is checked elsewhere.
import type { JsonSchema } from '#api'
import { isPlainObject, ownValue } from '#lib'
import type { ObjectCheck } from '../kinds/resource.ts'
import type { ApiObject } from '../object.ts'
import { badRequest } from '../status.ts'
import { typeName } from './types.ts'

export function decodeCheck(kind: string, version: string, schema: JsonSchema): ObjectCheck {
  return {
    admit(object) {
      const unknown: string[] = []
      try {
        return { object: decode(object, schema, '', '', unknown) as ApiObject, unknown }
      } catch (error) {
        if (!(error instanceof DecodeFault)) throw error
        throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${error.message}`)
      }
    },
    validate: () => [],
  }
}

class DecodeFault extends Error {}

function decode(value: unknown, schema: JsonSchema, path: string, owner: string, unknown: string[]): unknown {
  if (schema.type === 'object') {
    if (!isPlainObject(value)) throw mismatch(value, path, owner, schema)
    return schema.additionalProperties === undefined
      ? decodeFields(value, schema, path, unknown)
      : decodeMap(value, schema.additionalProperties as JsonSchema, path, owner, unknown)
  }
  if (schema.type === 'array') {
    if (!Array.isArray(value)) throw mismatch(value, path, owner, schema)
    return value.map((item, i) => decode(item ?? zeroOf(schema.items!), schema.items!, `${path}[${i}]`, owner, unknown))
  }
  return decodeScalar(value, schema, path, owner)
}

function decodeFields(value: Record<string, unknown>, schema: JsonSchema, path: string, unknown: string[]): unknown {
  const properties = schema.properties ?? {}
  const name = typeName(schema)?.split('.').at(-1) ?? ''
  const out: Record<string, unknown> = {}
  for (const [field, inner] of Object.entries(value)) {
    const at = path === '' ? field : `${path}.${field}`
    const property = ownValue(properties, field)
    if (!property) unknown.push(at)
    else if (inner !== null && inner !== undefined) out[field] = decode(inner, property, at, name, unknown)
  }
  return out
}

function decodeMap(
  value: Record<string, unknown>,
  items: JsonSchema,
  path: string,
  owner: string,
  unknown: string[],
): unknown {
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    decode(inner ?? zeroOf(items), items, items.type === 'object' ? `${path}.${key}` : path, owner, unknown),
  ])
  return Object.fromEntries(entries)
}

function zeroOf(schema: JsonSchema): unknown {
  if (schema.type === 'object') return {}
  if (schema.type === 'array') return []
  if (schema.type === 'string') return ''
  if (schema.type === 'boolean') return false
  return schema.type === 'integer' || schema.type === 'number' ? 0 : null
}

function decodeScalar(value: unknown, schema: JsonSchema, path: string, owner: string): unknown {
  if (schema['x-kubernetes-int-or-string']) {
    if (!isIntOrString(value, schema)) throw mismatch(value, path, owner, schema)
    return schema.format === 'quantity' ? `${value}` : value
  }
  if (schema.type === undefined) return value
  if (schema.type === 'string') {
    if (typeof value !== 'string') throw mismatch(value, path, owner, schema)
    if (schema.format === 'byte') checkBase64(value)
    if (schema.format === 'date-time') return toTime(value, 0)
    return schema.format === 'micro-time' ? toTime(value, 6) : value
  }
  if (schema.type === 'boolean' && typeof value === 'boolean') return value
  if (schema.type === 'number' && (typeof value === 'number' || typeof value === 'bigint')) return Number(value)
  if (schema.type === 'integer' && isIntegerOf(value, schema.format)) return value
  throw mismatch(value, path, owner, schema)
}

function isIntOrString(value: unknown, { format }: JsonSchema): boolean {
  return typeof value === 'string' || typeof value === 'number' || (typeof value === 'bigint' && format === 'quantity')
}

const MAX_INT32 = 2 ** 31

function isIntegerOf(value: unknown, format = 'int32'): boolean {
  if (format === 'int64' && typeof value === 'bigint') return true
  if (!Number.isInteger(value)) return false
  return format === 'int64' || ((value as number) >= -MAX_INT32 && (value as number) < MAX_INT32)
}

/** Same alphabet and padding as Go: the index of the first bad byte is part of the message people know. */
function checkBase64(text: string): void {
  const bad = /[^A-Za-z0-9+/\r\n]/.exec(text.replace(/={1,2}[\r\n]*$/, (pad) => 'A'.repeat(pad.length)))
  const letters = text.replace(/[\r\n]/g, '')
  const at = bad ? bad.index : letters.length % 4 === 0 ? -1 : letters.length - (letters.length % 4)
  if (at >= 0) throw new DecodeFault(`illegal base64 data at input byte ${at}`)
}

function toTime(text: string, digits: number): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/i.exec(text)
  const epoch = match ? Date.parse(text) : Number.NaN
  if (!match || Number.isNaN(epoch)) {
    throw new DecodeFault(`parsing time "${text}" as "2006-01-02T15:04:05Z07:00": cannot parse "${text}"`)
  }
  if (digits > 0 && match[3]?.length !== digits) {
    throw new DecodeFault(
      `parsing time "${text}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "${text.slice(19)}" as ".000000"`,
    )
  }
  const seconds = new Date(epoch).toISOString().slice(0, 19)
  return digits === 0 ? `${seconds}Z` : `${seconds}.${match[3]}Z`
}

function mismatch(value: unknown, path: string, owner: string, schema: JsonSchema): DecodeFault {
  const found = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : numberText(value, schema)
  const place = path.replace(/\[\d+\]/g, '')
  return new DecodeFault(
    `json: cannot unmarshal ${found} into Go struct field ${owner}.${place} of type ${goType(schema)}`,
  )
}

/** Go names the number that does not fit. */
function numberText(value: unknown, { type }: JsonSchema): string {
  if (typeof value === 'bigint') return `number ${value}`
  return type === 'integer' && Number.isInteger(value) ? `number ${value}` : typeof value
}

function goType(schema: JsonSchema): string {
  if (schema.type === 'integer') return schema.format ?? 'int32'
  if (schema.type === 'number') return 'float64'
  if (schema.type === 'boolean') return 'bool'
  if (schema.type === 'string') return schema.format === 'byte' ? '[]uint8' : 'string'
  if (schema.type === 'array') return `[]${goType(schema.items!)}`
  if (schema.additionalProperties) return `map[string]${goType(schema.additionalProperties as JsonSchema)}`
  return typeName(schema)?.split('.').slice(-2).join('.') ?? 'object'
}
