// What a schema must say about a list that is a set or a map by key.
import { ownValue } from '#lib'
import type { JsonSchema } from '../build.ts'
import type { Complain } from './structural.ts'

export function checkListType(schema: JsonSchema, path: string, complain: Complain): void {
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
  if (items && items.type !== 'object') {
    complain(at('items.type'), "must be object if parent array's x-kubernetes-list-type is map")
    return
  }
  if (items?.nullable) complain(at('items.nullable'), 'cannot be nullable when x-kubernetes-list-type is map')
  for (const key of keys) {
    const field = ownValue(items?.properties, key)
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
