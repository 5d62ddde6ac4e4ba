// What may stand inside anyOf, allOf, oneOf and not: restrictions of values, and only of fields declared outside.
import { jsonEqual, ownValue } from '#lib'
import type { JsonSchema } from '../build.ts'
import { patternFault } from '../patterns.ts'
import type { Complain } from './structural.ts'

/** The two alternatives that x-kubernetes-int-or-string may spell out. */
export const INT_OR_STRING = [{ type: 'integer' }, { type: 'string' }]

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

export function checkValueRules(
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

/** Every field restricted inside anyOf and friends of the root must be declared outside of them; deeper down the server does not ask. */
export function checkCompleteness(
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
    const declared = ownValue(structure.properties, name)
    const below = `properties[${name}]`
    if (declared) checkNestedCompleteness(field, declared, `${rulesPath}.${below}`, at(below), complain)
    else complain(at(below), `must be declared because it is defined in ${rulesPath}.${below}`)
  }
}
