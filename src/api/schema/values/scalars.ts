// The checks that look at one value and not into it: type, length, pattern, range, enum.
import { type Json, jsonEqual } from '#lib'
import type { JsonSchema } from '../build.ts'
import { fault, notSupported } from '../faults.ts'
import type { Findings } from '../findings.ts'
import { badValue, formatNumber, isServerInteger, quote } from '../go-text.ts'
import { matchesPattern } from '../patterns.ts'
import { formatCheck } from './formats.ts'

export function typesOf(schema: JsonSchema): readonly string[] {
  if (schema['x-kubernetes-int-or-string']) return ['integer', 'string']
  return schema.type === undefined ? [] : [schema.type]
}

function typeOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'bigint') return 'integer'
  if (typeof value === 'number') return isServerInteger(value) ? 'integer' : 'number'
  return typeof value
}

/** Whether the type is right; what is wrong goes to the findings. */
export function checkType(value: Json, schema: JsonSchema, path: string, found: Findings): boolean {
  const types = typesOf(schema)
  const actual = typeOf(value)
  const refuse = (wanted: string, got: string) => {
    found.add(fault('TypeInvalid', path, quote(got), `${path} in body must be of type ${wanted}: ${quote(got)}`))
    return false
  }
  if (value === null) return types.length === 0 || schema.nullable === true || refuse(types.join(','), 'null')

  const isKnownFormat = formatCheck(schema.format) !== undefined
  const isWholeFloat = actual === 'number' && types.includes('integer') && isNearlyInteger(value as number)
  const isIntegerForNumber = actual === 'integer' && types.includes('number')
  const isText = actual === 'string' || actual === 'array'
  const fits = types.includes(actual) || isWholeFloat || isIntegerForNumber
  if (!isText && isKnownFormat && !fits) {
    return refuse(schema.format!, actual === 'integer' ? 'int64' : actual === 'number' ? 'float64' : '')
  }
  if (isText && isKnownFormat && !types.includes('number') && !types.includes('integer')) return true
  return fits || refuse(types.join(','), actual)
}

function isNearlyInteger(value: number): boolean {
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) return false
  const whole = Math.trunc(value)
  if (value === whole) return true
  if (value < 0 || whole === 0) return false
  return Math.abs(value - whole) / (Math.abs(value) + whole) < 1e-9
}

export function checkString(value: string, schema: JsonSchema, path: string, found: Findings): void {
  const { minLength, maxLength, pattern } = schema
  const length = maxLength === undefined && minLength === undefined ? 0 : [...value].length
  if (maxLength !== undefined && length > maxLength)
    found.add(fault('TooLong', path, undefined, `may not be more than ${maxLength} bytes`))
  else if (minLength !== undefined && length < minLength)
    found.add(fault('Invalid', path, quote(value), `${path} in body should be at least ${minLength} chars long`))
  else if (pattern !== undefined && pattern !== '' && !matchesPattern(pattern, value))
    found.add(fault('Invalid', path, quote(value), `${path} in body should match '${pattern}'`))
}

export function checkNumber(value: number | bigint, schema: JsonSchema, path: string, found: Findings): void {
  const isInteger = typeof value === 'bigint' || isServerInteger(value)
  const bound = (limit: number | bigint) => (isInteger && typeof limit === 'number' ? Math.trunc(limit) : limit)
  const refuse = (rule: string, limit: number | bigint) =>
    found.add(fault('Invalid', path, formatNumber(value), `${path} in body should be ${rule} ${formatNumber(limit)}`))

  if (schema.multipleOf !== undefined) {
    const factor = bound(schema.multipleOf)
    if (factor <= 0) {
      const text = formatNumber(factor)
      found.add(fault('Invalid', path, text, `factor MultipleOf declared for ${path} must be positive: ${text}`))
    } else if (!isMultiple(value, factor, isInteger)) refuse('a multiple of', factor)
  }
  if (schema.minimum !== undefined) {
    const limit = bound(schema.minimum)
    if (schema.exclusiveMinimum ? value <= limit : value < limit)
      refuse(schema.exclusiveMinimum ? 'greater than' : 'greater than or equal to', limit)
  }
  if (schema.maximum !== undefined) {
    const limit = bound(schema.maximum)
    if (schema.exclusiveMaximum ? value >= limit : value > limit)
      refuse(schema.exclusiveMaximum ? 'less than' : 'less than or equal to', limit)
  }
}

function isMultiple(value: number | bigint, factor: number | bigint, isInteger: boolean): boolean {
  if (isInteger) return BigInt(value) % BigInt(factor) === 0n
  const [number, divisor] = [Number(value), Number(factor)]
  return isNearlyInteger(divisor < 1 ? (1 / divisor) * number : number / divisor)
}

export function checkEnum(value: Json, schema: JsonSchema, path: string, found: Findings): void {
  const values = schema.enum
  if (!values || values.length === 0) return
  if (value !== null && values.some((allowed) => isEnumValue(value, allowed))) return
  const supported = values.map((allowed) => (typeof allowed === 'string' ? allowed : JSON.stringify(allowed)))
  found.add(notSupported(path, badValue(value), supported))
}

function isEnumValue(value: Json, allowed: Json): boolean {
  if (typeof value === 'number' && typeof allowed === 'number' && isServerInteger(allowed))
    return Math.trunc(value) === allowed
  return jsonEqual(value, allowed)
}
