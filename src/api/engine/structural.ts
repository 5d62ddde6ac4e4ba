// Says why a schema is not one a CRD may carry: what is missing, contradictory or outside the structural form.
import { isPlainObject, jsonEqual } from '#lib'
import type { JsonSchema } from '../schema.ts'
import { patternFault } from './patterns.ts'

type Level = 'root' | 'item' | 'field'
type Complain = (path: string, what: string) => void

const UNTYPED: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}
const TYPES = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean'])
const INT_OR_STRING = [{ type: 'integer' }, { type: 'string' }]

/** Sentences, each opening with the place in the schema. Empty means structural. */
export function structuralFaults(schema: JsonSchema): string[] {
  const found: string[] = []
  const complain: Complain = (path, what) => void found.push(`${path === '' ? '' : `${path}: `}${what}`)
  checkNode(schema, 'root', '', complain)
  return found
}

function checkNode(schema: JsonSchema, level: Level, path: string, complain: Complain): void {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`)
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  const keepsUnknown = schema['x-kubernetes-preserve-unknown-fields']
  const isIntOrString = schema['x-kubernetes-int-or-string'] === true

  if (schema.type !== undefined && !TYPES.has(schema.type)) complain(at('type'), `${schema.type} is not a type`)
  if (isEmbedded && schema.type !== 'object')
    complain(at('type'), 'must be object if x-kubernetes-embedded-resource is true')
  else if (!schema.type && !isIntOrString && !keepsUnknown) complain(at('type'), UNTYPED[level])
  if (level === 'root' && schema.type && schema.type !== 'object') complain(at('type'), 'must be object at the root')
  if (level === 'root' && schema.nullable) complain(at('nullable'), 'cannot be true at the root')
  if (schema.type === 'array' && !schema.items) complain(at('items'), 'must be specified')
  if (schema.uniqueItems)
    complain(at('uniqueItems'), 'cannot be set to true since the runtime complexity becomes quadratic')
  if (keepsUnknown === false) complain(at('x-kubernetes-preserve-unknown-fields'), 'must be true or undefined')
  if (isIntOrString && keepsUnknown)
    complain(at('x-kubernetes-preserve-unknown-fields'), 'must be false if x-kubernetes-int-or-string is true')
  if (isIntOrString && schema.type) complain(at('type'), 'must be empty if x-kubernetes-int-or-string is true')
  if (isEmbedded && !keepsUnknown && Object.keys(schema.properties ?? {}).length === 0)
    complain(
      at('properties'),
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
    )

  checkAdditional(schema, level, path, complain)
  checkListType(schema, path, complain)
  if (schema['x-kubernetes-map-type'] !== undefined && schema.type !== 'object')
    complain(at('type'), 'must be object if x-kubernetes-map-type is specified')
  checkMetadata(schema, level === 'root' || isEmbedded, level, path, complain)
  checkValueRules(schema, path, complain, isIntOrString && jsonEqual(schema.anyOf, INT_OR_STRING), isIntOrString)
  checkCompleteness(schema, schema, path, path, complain)

  if (isPlainObject(schema.items)) checkNode(schema.items as JsonSchema, 'item', at('items'), complain)
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const isMetadata = level === 'root' && name === 'metadata'
    if (!isMetadata) checkNode(field, 'field', at(`properties[${name}]`), complain)
  }
}

function checkAdditional(schema: JsonSchema, level: Level, path: string, complain: Complain): void {
  const additional = schema.additionalProperties
  if (additional === undefined) return
  const at = path === '' ? 'additionalProperties' : `${path}.additionalProperties`
  if (level === 'root') complain(at, 'must not be used at the root')
  if (schema['x-kubernetes-embedded-resource'])
    complain(at, 'must not be used if x-kubernetes-embedded-resource is set')
  if (Object.keys(schema.properties ?? {}).length > 0 && additional !== true)
    complain(at, 'additionalProperties and properties are mutual exclusive')
  if (typeof additional === 'object') checkNode(additional, 'field', at, complain)
}

function checkListType(schema: JsonSchema, path: string, complain: Complain): void {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`)
  const listType = schema['x-kubernetes-list-type']
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  if (listType !== undefined && schema.type !== 'array')
    complain(at('type'), 'must be array if x-kubernetes-list-type is specified')
  if (keys.length > 0 && listType !== 'map')
    complain(at('x-kubernetes-list-type'), 'must be map if x-kubernetes-list-map-keys is non-empty')
  const { items } = schema
  if (listType === 'set' && items) {
    if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic')
      complain(at('items.x-kubernetes-map-type'), 'must be atomic as item of a list with x-kubernetes-list-type=set')
    if (items.type === 'array' && (items['x-kubernetes-list-type'] ?? 'atomic') !== 'atomic')
      complain(at('items.x-kubernetes-list-type'), 'must be atomic as item of a list with x-kubernetes-list-type=set')
    if (items.nullable) complain(at('items.nullable'), 'cannot be nullable when x-kubernetes-list-type is set')
  }
  if (listType !== 'map') return
  if (keys.length === 0)
    complain(at('x-kubernetes-list-map-keys'), 'must not be empty if x-kubernetes-list-type is map')
  if (new Set(keys).size !== keys.length)
    complain(at('x-kubernetes-list-map-keys'), 'must not contain duplicate entries')
  if (items && items.type !== 'object')
    return complain(at('items.type'), "must be object if parent array's x-kubernetes-list-type is map")
  if (items?.nullable) complain(at('items.nullable'), 'cannot be nullable when x-kubernetes-list-type is map')
  for (const key of keys) {
    const field = items?.properties?.[key]
    if (!field) complain(at('x-kubernetes-list-map-keys'), 'entries must all be names of item properties')
    else if (field.type === 'array' || field.type === 'object')
      complain(
        at(`items.properties[${key}].type`),
        "must be a scalar type if parent array's x-kubernetes-list-type is map",
      )
    else if (field.nullable)
      complain(
        at(`items.properties[${key}].nullable`),
        'this property is in x-kubernetes-list-map-keys, so it cannot be nullable',
      )
    else if (field.default === undefined && !items?.required?.includes(key))
      complain(
        at(`items.properties[${key}].default`),
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
      )
  }
}

function checkMetadata(schema: JsonSchema, isResource: boolean, level: Level, path: string, complain: Complain): void {
  if (!isResource) return
  const at = (name: string) => (path === '' ? `properties[${name}]` : `${path}.properties[${name}]`)
  for (const name of ['apiVersion', 'kind']) {
    const field = schema.properties?.[name]
    if (field && field.type !== 'string') complain(`${at(name)}.type`, 'must be string')
  }
  const metadata = schema.properties?.['metadata']
  if (!metadata) return
  if (metadata.type !== 'object') complain(`${at('metadata')}.type`, 'must be object')
  if (level !== 'root') return
  const named = Object.keys(metadata.properties ?? {}).filter((name) => name !== 'name' && name !== 'generateName')
  const others = Object.keys(metadata).filter((key) => !['type', 'properties', 'description'].includes(key))
  if (named.length > 0 || others.length > 0 || metadata.description !== undefined)
    complain(
      at('metadata'),
      'must not specify anything other than name and generateName, but metadata is implicitly specified',
    )
}

const NESTED_FORBIDDEN = {
  type: 'must be empty to be structural',
  additionalProperties: 'must be undefined to be structural',
  default: 'must be undefined to be structural',
  title: 'must be empty to be structural',
  description: 'must be empty to be structural',
  nullable: 'must be false to be structural',
  'x-kubernetes-preserve-unknown-fields': 'must be false to be structural',
  'x-kubernetes-embedded-resource': 'must be false to be structural',
  'x-kubernetes-int-or-string': 'must be false to be structural',
  'x-kubernetes-list-map-keys': 'must be empty to be structural',
  'x-kubernetes-list-type': 'must be undefined to be structural',
  'x-kubernetes-map-type': 'must be undefined to be structural',
  'x-kubernetes-validations': 'must be empty to be structural',
} as const satisfies Partial<Record<keyof JsonSchema, string>>

function checkValueRules(
  schema: JsonSchema,
  path: string,
  complain: Complain,
  skipAnyOf: boolean,
  mayStartWithIntOrString: boolean,
): void {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`)
  const why = schema.pattern ? patternFault(schema.pattern) : undefined
  if (why) complain(at('pattern'), `must be a valid regular expression, but isn't: ${why}`)
  if (!skipAnyOf) (schema.anyOf ?? []).forEach((nested, i) => void checkNested(nested, at(`anyOf[${i}]`), complain))
  ;(schema.allOf ?? []).forEach((nested, i) => {
    const skips = i === 0 && mayStartWithIntOrString && jsonEqual(nested.anyOf, INT_OR_STRING)
    checkNested(nested, at(`allOf[${i}]`), complain, skips)
  })
  ;(schema.oneOf ?? []).forEach((nested, i) => void checkNested(nested, at(`oneOf[${i}]`), complain))
  if (schema.not) checkNested(schema.not, at('not'), complain)
}

/** Inside anyOf, allOf, oneOf and not, only values may be restricted. */
function checkNested(schema: JsonSchema, path: string, complain: Complain, skipAnyOf = false): void {
  for (const [key, what] of Object.entries(NESTED_FORBIDDEN)) {
    const value = schema[key as keyof JsonSchema]
    const isEmpty = value === undefined || value === false || value === '' || (Array.isArray(value) && !value.length)
    if (!isEmpty) complain(`${path}.${key}`, what)
  }
  if (schema.properties?.['metadata'])
    complain(`${path}.properties[metadata]`, 'must not be specified in a nested context')
  checkValueRules(schema, path, complain, skipAnyOf, false)
  if (schema.items) checkNested(schema.items, `${path}.items`, complain)
  for (const [name, field] of Object.entries(schema.properties ?? {}))
    checkNested(field, `${path}.properties[${name}]`, complain)
}

/** Every field restricted inside anyOf and friends must be declared outside of them. */
function checkCompleteness(
  rules: JsonSchema,
  structure: JsonSchema,
  rulesPath: string,
  path: string,
  complain: Complain,
): void {
  const at = (base: string, name: string) => (base === '' ? name : `${base}.${name}`)
  const nested: [string, JsonSchema][] = [
    ...(rules.anyOf ?? []).map((one, i): [string, JsonSchema] => [`anyOf[${i}]`, one]),
    ...(rules.allOf ?? []).map((one, i): [string, JsonSchema] => [`allOf[${i}]`, one]),
    ...(rules.oneOf ?? []).map((one, i): [string, JsonSchema] => [`oneOf[${i}]`, one]),
    ...(rules.not ? [['not', rules.not] as [string, JsonSchema]] : []),
  ]
  for (const [name, one] of nested) checkNestedCompleteness(one, structure, at(rulesPath, name), path, complain)
}

function checkNestedCompleteness(
  rules: JsonSchema,
  structure: JsonSchema,
  rulesPath: string,
  path: string,
  complain: Complain,
): void {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`)
  checkCompleteness(rules, structure, rulesPath, path, complain)
  if (rules.items) {
    if (structure.items)
      checkNestedCompleteness(rules.items, structure.items, `${rulesPath}.items`, at('items'), complain)
    else complain(at('items'), `must be declared because it is defined in ${rulesPath}.items`)
  }
  for (const [name, field] of Object.entries(rules.properties ?? {})) {
    const declared = structure.properties?.[name]
    const below = `properties[${name}]`
    if (declared) checkNestedCompleteness(field, declared, `${rulesPath}.${below}`, at(below), complain)
    else complain(at(below), `must be declared because it is defined in ${rulesPath}.${below}`)
  }
}
