// Runs the CEL rules of a schema over a value. Transition rules (those that mention oldSelf) run only where an old value is paired.
import { isPlainObject, type Json, ownValue } from '#lib'
import { isEmbedded, type JsonSchema, type Rule } from './build.ts'
import { Correlation, findByKeys } from './correlate.ts'
import { fault, required } from './faults.ts'
import { quote } from './go-text.ts'
import type { Fault } from './index.ts'
import { loadCel } from './lazy.ts'

/** The pair at this place and the closest pair above it: a fault in an unpaired part is old when what holds it is unchanged. */
interface Pairs {
  readonly here: Correlation | undefined
  readonly above: Correlation | undefined
}
const NO_PAIRS: Pairs = { here: undefined, above: undefined }

const withRules = new WeakMap<JsonSchema, boolean>()

/** Whether this schema or anything below it has a rule. */
export function hasRules(schema: JsonSchema | undefined): boolean {
  if (!schema) return false
  const known = withRules.get(schema)
  if (known !== undefined) return known
  const additional = schema.additionalProperties
  const answer =
    (schema['x-kubernetes-validations']?.length ?? 0) > 0 ||
    hasRules(schema.items) ||
    (typeof additional === 'object' && hasRules(additional)) ||
    Object.values(schema.properties ?? {}).some(hasRules)
  withRules.set(schema, answer)
  return answer
}

/** `path` and `isResource` are for values that are not a whole object, such as a default. */
export function validateRules(
  value: Json,
  schema: JsonSchema,
  old: Json | undefined,
  path = '',
  isResource = true,
): Fault[] {
  if (!hasRules(schema)) return []
  const pairs = old === undefined ? NO_PAIRS : { here: new Correlation(value, old, schema), above: undefined }
  loadCel().startObjectBudget()
  return walk(value, old, schema, path, pairs, isResource)
}

function walk(
  value: Json,
  old: Json | undefined,
  schema: JsonSchema,
  path: string,
  pairs: Pairs,
  isRoot: boolean,
): Fault[] {
  if (value === null || !hasRules(schema)) return []
  const found = runHere(value, old ?? undefined, schema, path, pairs, isRoot)
  if (Array.isArray(value)) {
    const items = schema.items
    if (!items) return found
    const before = Array.isArray(old) && schema['x-kubernetes-list-type'] === 'map' ? (old as readonly Json[]) : []
    value.forEach((item: Json, i) => {
      const was = findByKeys(schema, before, item)
      const next = pairs.here ? { here: pairs.here.item(i), above: pairs.here } : pairs
      found.push(...walk(item, was, items, `${path}[${i}]`, next, isEmbedded(items)))
    })
  } else if (isPlainObject(value)) {
    const before = isPlainObject(old) ? (old as Record<string, Json>) : {}
    for (const [key, item] of Object.entries(value) as [string, Json][]) {
      const isField = schema.properties !== undefined && Object.hasOwn(schema.properties, key)
      const child = isField ? schema.properties[key] : schema.additionalProperties
      if (typeof child !== 'object') continue
      const at = isField ? (path === '' ? key : `${path}.${key}`) : `${path}[${key}]`
      found.push(...walk(item, ownValue(before, key), child, at, pairsBelow(pairs, key), isEmbedded(child)))
    }
  }
  return found
}

function pairsBelow(pairs: Pairs, key: string): Pairs {
  if (!pairs.here) return pairs
  if (!pairs.above && (key === 'apiVersion' || key === 'kind')) return NO_PAIRS
  return { here: pairs.here.field(key), above: pairs.here }
}

function runHere(
  value: Json,
  old: Json | undefined,
  schema: JsonSchema,
  path: string,
  pairs: Pairs,
  isRoot: boolean,
): Fault[] {
  const rules = schema['x-kubernetes-validations'] ?? []
  if (rules.length === 0) return []
  const cel = loadCel()
  const self = cel.toCel(value, schema, isRoot)
  const oldSelf = old === undefined ? undefined : cel.toCel(cel.alignOld(old, value, schema), schema, isRoot)
  const typeName = quote(schema.type ?? '')
  return rules.flatMap((rule) => {
    const program = cel.compileRule(rule.rule)
    if (program.usesOldSelf && oldSelf === undefined && !rule.optionalOldSelf) return []
    const input = { self, oldSelf: rule.optionalOldSelf ? cel.optionalOf(oldSelf) : oldSelf }
    const outcome = program.run(input)
    if ('over' in outcome) return [fault('Invalid', path, typeName, describeCost(outcome.over, rule))]
    if ('error' in outcome) return [fault('Invalid', path, typeName, describeError(outcome.error, rule))]
    if (outcome.value === true) return []
    const isOld = pairs.here ? pairs.here.unchanged : pairs.above?.unchanged === true
    if (!program.usesOldSelf && isOld) return []
    return [refusal(rule, messageOf(rule, input), path, typeName)]
  })
}

function describeError(error: string, rule: Rule): string {
  if (error.startsWith('no such overload'))
    return `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${nameOf(rule)}`
  return `${error} evaluating rule: ${nameOf(rule)}`
}

function describeCost(over: string, rule: Rule): string {
  if (over.startsWith('operation cancelled'))
    return `'${over}': no further validation rules will be run due to call cost exceeds limit for rule: ${nameOf(rule)}`
  return 'validation failed due to running out of cost budget, no further validation rules will be run'
}

function nameOf(rule: Rule): string {
  return (rule.message ? rule.message : rule.rule).trim()
}

/** A message expression that fails, is empty or has several lines gives way to the plain message. */
function messageOf(rule: Rule, input: { readonly self: unknown; readonly oldSelf: unknown }): string {
  if (rule.messageExpression) {
    const outcome = loadCel().compileRule(rule.messageExpression).run(input)
    const text = 'value' in outcome && typeof outcome.value === 'string' ? outcome.value.trim() : ''
    if (text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= 5 * 1024) return text
  }
  return rule.message ? rule.message.trim() : `failed rule: ${rule.rule.trim()}`
}

function refusal(rule: Rule, message: string, path: string, typeName: string): Fault {
  const at = rule.fieldPath ? joinFieldPath(path, rule.fieldPath) : path
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return fault('Forbidden', at, undefined, message)
    case 'FieldValueRequired':
      return required(at, message)
    case 'FieldValueDuplicate':
      return fault('Duplicate', at, typeName)
    default:
      return fault('Invalid', at, typeName, message)
  }
}

/** `.a['b.c']` below `spec` is `spec.a.b.c`, as the server joins it. */
function joinFieldPath(path: string, fieldPath: string): string {
  const below = parseFieldPath(fieldPath).join('.')
  return path === '' ? below : `${path}.${below}`
}

/** The names in a fieldPath such as `.spec.a['b.c']`; undefined parts are refused when the schema is compiled. */
export function parseFieldPath(fieldPath: string): string[] {
  const names: string[] = []
  const part = /\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]/gy
  while (part.lastIndex < fieldPath.length) {
    const match = part.exec(fieldPath)
    if (!match) return []
    names.push(match[1] ?? match[2]!.replace(/\\(.)/g, '$1'))
  }
  return names
}
