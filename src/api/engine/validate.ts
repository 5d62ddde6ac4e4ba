// Checks a value against the value rules of a schema: types, ranges, lengths, patterns, formats, enums, required, any/all/one of.
// What is compared, in which order, and how a fault is worded follows kube-apiserver.
import { isPlainObject, type Json, jsonEqual } from '#lib'
import type { Fault } from '../engine.ts'
import type { JsonSchema } from '../schema.ts'
import type { Correlation } from './correlate.ts'
import { fault, notSupported, required } from './faults.ts'
import { formatCheck } from './formats.ts'
import { badValue, formatNumber, isServerInteger, quote } from './go-text.ts'
import { matchesPattern } from './patterns.ts'

/** Faults found, each once, and how many checks went well: the best branch of an anyOf is the one that got furthest. */
export class Findings {
  readonly faults: Fault[] = []
  matches = 0

  add(one: Fault): void {
    if (!this.faults.some((known) => known.message === one.message)) this.faults.push(one)
  }

  merge(other: Findings): void {
    for (const one of other.faults) this.add(one)
    this.matches += other.matches
  }
}

export function validateValue(value: Json, schema: JsonSchema, path: string, pair?: Correlation): Findings {
  const found = checkNode(value, schema, path, pair)
  if (found.faults.length === 0 || !pair?.unchanged) return found
  const tolerated = new Findings()
  tolerated.matches = found.matches
  return tolerated
}

function checkNode(value: Json, schema: JsonSchema, path: string, pair: Correlation | undefined): Findings {
  const found = new Findings()
  if (value === null) {
    if (checkType(value, schema, path, found)) found.matches++
    checkEnum(value, schema, path, found)
    return found
  }
  const format = formatCheck(schema.format)
  if (typesOf(schema).length > 0 || format) {
    if (checkType(value, schema, path, found)) found.matches++
    found.matches++
  }
  found.merge(checkJunctors(value, schema, path))
  found.matches++
  if (typeof value === 'string') {
    checkString(value, schema, path, found)
    found.matches++
    if (format) {
      if (!format(value))
        found.add(
          fault('TypeInvalid', path, quote(value), `${path} in body must be of type ${schema.format}: ${quote(value)}`),
        )
      found.matches++
    }
  }
  if (typeof value === 'number') {
    checkNumber(value, schema, path, found)
    found.matches += 2
  }
  if (Array.isArray(value)) {
    checkList(value, schema, path, pair, found)
    found.matches += 2
  }
  checkEnum(value, schema, path, found)
  found.matches++
  if (isPlainObject(value)) {
    checkObject(value as Record<string, Json>, schema, path, pair, found)
    found.matches++
  }
  found.matches++
  return found
}

function typesOf(schema: JsonSchema): readonly string[] {
  if (schema['x-kubernetes-int-or-string']) return ['integer', 'string']
  return schema.type === undefined ? [] : [schema.type]
}

export function typeOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return isServerInteger(value) ? 'integer' : 'number'
  return typeof value
}

function checkType(value: Json, schema: JsonSchema, path: string, found: Findings): boolean {
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

function checkString(value: string, schema: JsonSchema, path: string, found: Findings): void {
  const { minLength, maxLength, pattern } = schema
  const length = maxLength === undefined && minLength === undefined ? 0 : [...value].length
  if (maxLength !== undefined && length > maxLength)
    found.add(fault('TooLong', path, undefined, `may not be more than ${maxLength} bytes`))
  else if (minLength !== undefined && length < minLength)
    found.add(fault('Invalid', path, quote(value), `${path} in body should be at least ${minLength} chars long`))
  else if (pattern !== undefined && pattern !== '' && !matchesPattern(pattern, value))
    found.add(fault('Invalid', path, quote(value), `${path} in body should match '${pattern}'`))
}

function checkNumber(value: number, schema: JsonSchema, path: string, found: Findings): void {
  const isInteger = isServerInteger(value)
  const bound = (limit: number) => (isInteger ? Math.trunc(limit) : limit)
  const refuse = (rule: string, limit: number) =>
    found.add(fault('Invalid', path, formatNumber(value), `${path} in body should be ${rule} ${formatNumber(limit)}`))

  if (schema.multipleOf !== undefined) {
    const factor = bound(schema.multipleOf)
    const isMultiple = isInteger
      ? value % factor === 0
      : isNearlyInteger(factor < 1 ? (1 / factor) * value : value / factor)
    if (factor <= 0) {
      const text = formatNumber(factor)
      found.add(fault('Invalid', path, text, `factor MultipleOf declared for ${path} must be positive: ${text}`))
    } else if (!isMultiple) refuse('a multiple of', factor)
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

function checkEnum(value: Json, schema: JsonSchema, path: string, found: Findings): void {
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

function checkList(
  list: readonly Json[],
  schema: JsonSchema,
  path: string,
  pair: Correlation | undefined,
  found: Findings,
): void {
  const { items, minItems, maxItems } = schema
  if (items) list.forEach((item, i) => void found.merge(validateValue(item, items, `${path}[${i}]`, pair?.item(i))))
  if (minItems !== undefined && list.length < minItems)
    found.add(fault('Invalid', path, `${list.length}`, `${path} in body should have at least ${minItems} items`))
  if (maxItems !== undefined && list.length > maxItems)
    found.add(fault('TooMany', path, `${list.length}`, `must have at most ${maxItems} items`))
  if (schema.uniqueItems && list.some((item, i) => list.slice(0, i).some((other) => jsonEqual(item, other))))
    found.add(fault('Invalid', path, '""', `${path} in body shouldn't contain duplicates`))
}

function checkObject(
  object: Readonly<Record<string, Json>>,
  schema: JsonSchema,
  path: string,
  pair: Correlation | undefined,
  found: Findings,
): void {
  const { properties = {}, additionalProperties: additional, minProperties, maxProperties } = schema
  const size = Object.keys(object).length
  if (minProperties !== undefined && size < minProperties)
    found.add(fault('Invalid', path, `${size}`, `${path} in body should have at least ${minProperties} properties`))
  if (maxProperties !== undefined && size > maxProperties)
    found.add(fault('TooMany', path, `${size}`, `must have at most ${maxProperties} items`))

  const below = (key: string) => (path === '' ? key : `${path}.${key}`)
  for (const [key, item] of Object.entries(object)) {
    if (Object.hasOwn(properties, key))
      found.merge(validateValue(item, properties[key]!, below(key), pairOf(pair, path, key)))
    else if (additional === false)
      found.add(fault('Invalid', path, quote(key), `${path}.${key} in body is a forbidden property`))
    else if (typeof additional === 'object')
      found.merge(validateValue(item, additional, below(key), pairOf(pair, path, key)))
  }
  for (const key of schema.required ?? []) if (!Object.hasOwn(object, key)) found.add(required(below(key)))
}

/** apiVersion and kind of the whole object are never old faults: both sides were read at the same version. */
function pairOf(pair: Correlation | undefined, path: string, key: string): Correlation | undefined {
  return path === '' && (key === 'apiVersion' || key === 'kind') ? undefined : pair?.field(key)
}

/** Inside a junctor nothing is tolerated because it is old: the alternatives are judged on the new value alone. */
function checkJunctors(value: Json, schema: JsonSchema, path: string): Findings {
  const found = new Findings()
  const branches = (list: readonly JsonSchema[]) => list.map((branch) => checkNode(value, branch, path, undefined))
  const complain = (what: string) =>
    found.add({ ...fault('Invalid', '', '""', `${quote(path)} ${what}`), ...(path === '' ? {} : { at: path }) })

  if (schema.anyOf?.length) {
    const results = branches(schema.anyOf)
    const good = results.find((result) => result.faults.length === 0)
    if (!good) complain('must validate at least one schema (anyOf)')
    found.merge(good ?? best(results))
  }
  if (schema.oneOf?.length) {
    const results = branches(schema.oneOf)
    const good = results.filter((result) => result.faults.length === 0)
    if (good.length === 1) found.merge(good[0]!)
    else {
      const count = good.length === 0 ? 'Found none valid' : `Found ${good.length} valid alternatives`
      complain(`must validate one and only one schema (oneOf). ${count}`)
      if (good.length === 0) found.merge(best(results))
    }
  }
  if (schema.allOf?.length) {
    const results = branches(schema.allOf)
    for (const result of results) found.merge(result)
    const good = results.filter((result) => result.faults.length === 0).length
    if (good !== results.length)
      complain(`must validate all the schemas (allOf)${good === 0 ? '. None validated' : ''}`)
  }
  if (schema.not && checkNode(value, schema.not, path, undefined).faults.length === 0)
    complain('must not validate the schema (not)')
  found.matches++
  return found
}

function best(results: readonly Findings[]): Findings {
  return results.reduce((winner, result) => (result.matches > winner.matches ? result : winner))
}
