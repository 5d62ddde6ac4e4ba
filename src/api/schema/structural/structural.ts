// Says why a schema is not one a CRD may carry: what is missing, contradictory or outside the structural form.
import { isPlainObject, jsonEqual } from '#lib'
import type { JsonSchema } from '../build.ts'
import { checkListType } from './lists.ts'
import { checkCompleteness, checkValueRules, INT_OR_STRING } from './nested.ts'

type Level = 'root' | 'item' | 'field'
export type Complain = (path: string, what: string) => void

const UNTYPED: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}
const TYPES = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean'])

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
  if (level === 'root') checkCompleteness(schema, schema, path, path, complain)

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
