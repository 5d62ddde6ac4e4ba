// Whole objects embedded in others (x-kubernetes-embedded-resource) must say what they are.
import { isPlainObject, type Json } from '#lib'
import type { JsonSchema } from '../build.ts'
import { fault, required } from '../faults.ts'
import { badValue, quote } from '../go-text.ts'
import type { Fault } from '../index.ts'

const KIND = /^[a-z]([-a-z0-9]*[a-z0-9])?$/

export function validateEmbedded(value: Json, schema: JsonSchema | undefined, path = ''): Fault[] {
  if (!schema) return []
  if (Array.isArray(value))
    return value.flatMap((item: Json, i) => validateEmbedded(item, schema.items, `${path}[${i}]`))
  if (!isPlainObject(value)) return []
  const object = value as Record<string, Json>
  const found = schema['x-kubernetes-embedded-resource'] ? checkTypeMeta(object, path) : []
  const additional = schema.additionalProperties
  for (const [key, item] of Object.entries(object)) {
    if (schema.properties && Object.hasOwn(schema.properties, key))
      found.push(...validateEmbedded(item, schema.properties[key], path === '' ? key : `${path}.${key}`))
    else if (typeof additional === 'object') found.push(...validateEmbedded(item, additional, `${path}[${key}]`))
  }
  return found
}

function checkTypeMeta(object: Readonly<Record<string, Json>>, path: string): Fault[] {
  const found: Fault[] = []
  for (const field of ['apiVersion', 'kind']) {
    const at = path === '' ? field : `${path}.${field}`
    const value = object[field]
    if (value === undefined) found.push(required(at, 'must not be empty'))
    else if (typeof value !== 'string') found.push(fault('Invalid', at, badValue(value), 'must be a string'))
    else if (value === '') found.push(fault('Invalid', at, quote(value), 'must not be empty'))
    else if (field === 'apiVersion' && value.split('/').length > 2)
      found.push(fault('Invalid', at, quote(value), `unexpected GroupVersion string: ${value}`))
    else if (field === 'kind' && (!KIND.test(value.toLowerCase()) || value.length > 63))
      found.push(
        fault('Invalid', at, quote(value), `may have mixed case, but should otherwise match: ${kindRule(value)}`),
      )
  }
  return found
}

function kindRule(value: string): string {
  const rules = value.length > 63 ? ['must be no more than 63 characters'] : []
  if (!KIND.test(value.toLowerCase()))
    rules.push(
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    )
  return rules.join(',')
}
