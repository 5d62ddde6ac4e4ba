// Checks a value against the value rules of a schema: types, ranges, lengths, patterns, formats, enums, required, any/all/one of.
// What is compared, in which order, and how a fault is worded follows kube-apiserver.
import { isPlainObject, type Json, jsonEqual } from '#lib'
import type { JsonSchema } from '../build.ts'
import type { Correlation } from '../correlate.ts'
import { fault, required } from '../faults.ts'
import { Findings } from '../findings.ts'
import { quote } from '../go-text.ts'
import { formatCheck } from './formats.ts'
import { checkEnum, checkNumber, checkString, checkType, typesOf } from './scalars.ts'

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
  if (typeof value === 'number' || typeof value === 'bigint') {
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

/** Inside a junctor nothing is tolerated because it is old: the alternatives are checked on the new value only. */
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
