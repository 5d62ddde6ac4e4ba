// The schema engine: checks a schema once, then prunes, defaults and validates values by it.
import { CaptError, type Json, jsonEqual } from '#lib'
import { childSchema, isEmbedded, type JsonSchema } from './build.ts'
import { Correlation } from './correlate.ts'
import { applyDefaults } from './defaults.ts'
import { isBlocking, RULES_NOT_CHECKED } from './faults.ts'
import type { CompiledSchema, Fault } from './index.ts'
import { loadCel } from './lazy.ts'
import { prune } from './prune.ts'
import { hasRules, parseFieldPath, validateRules } from './rules.ts'
import { structuralFaults } from './structural/structural.ts'
import { validateEmbedded } from './values/embedded.ts'
import { validateListTypes } from './values/list-types.ts'
import { validateValue } from './values/validate.ts'

const known = new WeakMap<JsonSchema, CompiledSchema>()

/** Compiled once per schema object. The schema must not change afterwards. */
export function compileSchema(schema: JsonSchema): CompiledSchema {
  const before = known.get(schema)
  if (before) return before
  const faults = schemaFaults(schema)
  if (faults.length > 0) {
    const more = faults.length > 3 ? ` (and ${faults.length - 3} more)` : ''
    throw new CaptError(
      'CAPT_SCHEMA_INVALID',
      `The schema is not acceptable: ${faults.slice(0, 3).join('; ')}${more}`,
      {
        hint: 'correct the openAPIV3Schema of the CustomResourceDefinition at the places named',
      },
    )
  }
  const compiled: CompiledSchema = {
    prune: (value) => prune(value, schema),
    applyDefaults: (value) => applyDefaults(value, schema),
    validate: (value, old) => validate(value, schema, old),
  }
  known.set(schema, compiled)
  return compiled
}

function validate(value: Json, schema: JsonSchema, old: Json | undefined): readonly Fault[] {
  const pair = old === undefined ? undefined : new Correlation(value, old, schema)
  const faults = [...validateValue(value, schema, '', pair).faults, ...validateEmbedded(value, schema)]
  if (old === undefined || validateListTypes(old, schema).length === 0) faults.push(...validateListTypes(value, schema))
  if (!hasRules(schema)) return faults
  return faults.some(isBlocking) ? [...faults, RULES_NOT_CHECKED] : [...faults, ...validateRules(value, schema, old)]
}

/** Every reason why a server would refuse this schema in a CRD. */
export function schemaFaults(schema: JsonSchema): string[] {
  const structural = structuralFaults(schema)
  if (structural.length > 0) return structural
  const found: string[] = []
  if (hasRules(schema)) checkRules(schema, '', true, undefined, found)
  if (found.length === 0) checkDefaults(schema, '', found)
  return found
}

function checkDefaults(schema: JsonSchema, path: string, found: string[]): void {
  const at = path === '' ? 'default' : `${path}.default`
  if (schema.default !== undefined && schema.default !== null) {
    const { value } = prune({ v: schema.default }, { type: 'object', properties: { v: schema } })
    if (!jsonEqual(value, { v: schema.default })) found.push(`${at}: must not have unknown fields`)
    const faults = validateValue(schema.default, schema, at).faults
    if (faults.length === 0) faults.push(...validateRules(schema.default, schema, undefined, at, isEmbedded(schema)))
    found.push(...faults.map((fault) => fault.message))
  }
  eachChild(schema, path, (child, childPath) => void checkDefaults(child, childPath, found))
}

function checkRules(
  schema: JsonSchema,
  path: string,
  isResource: boolean,
  unpaired: string | undefined,
  found: string[],
): void {
  const rules = schema['x-kubernetes-validations'] ?? []
  rules.forEach((rule, i) => {
    const at = `${path === '' ? '' : `${path}.`}x-kubernetes-validations[${i}]`
    const usesOld = loadCel().compileRule(rule.rule).usesOldSelf
    if (rule.rule.trim() === '') found.push(`${at}.rule: must not be empty`)
    const why = loadCel().ruleFault(rule, schema, isResource)
    if (why) found.push(`${at}.${why}`)
    if (usesOld && unpaired !== undefined)
      found.push(`${at}.rule: oldSelf cannot be used on the uncorrelatable portion of the schema within ${unpaired}`)
    if (!usesOld && rule.optionalOldSelf !== undefined)
      found.push(`${at}.optionalOldSelf: may not be set if oldSelf is not used in rule`)
    if (rule.rule.trim().includes('\n') && !rule.message)
      found.push(`${at}.message: must be specified if rule contains line breaks`)
    if (rule.message?.trim().includes('\n')) found.push(`${at}.message: must not contain line breaks`)
    if (rule.fieldPath !== undefined && !isFieldPath(rule.fieldPath, schema))
      found.push(`${at}.fieldPath: must be a valid path`)
  })
  eachChild(schema, path, (child, childPath, isItem) => {
    const breaksPairs = isItem && schema['x-kubernetes-list-type'] !== 'map'
    const within = breaksPairs ? (unpaired ?? path) : unpaired
    checkRules(child, childPath, isEmbedded(child), within, found)
  })
}

function isFieldPath(fieldPath: string, schema: JsonSchema): boolean {
  const names = parseFieldPath(fieldPath)
  let node: JsonSchema | undefined = schema
  for (const name of names) node = childSchema(node, name)
  return names.length > 0 && node !== undefined
}

function eachChild(
  schema: JsonSchema,
  path: string,
  visit: (child: JsonSchema, path: string, isItem: boolean) => void,
): void {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`)
  if (schema.items) visit(schema.items, at('items'), true)
  if (typeof schema.additionalProperties === 'object')
    visit(schema.additionalProperties, at('additionalProperties'), false)
  for (const [name, field] of Object.entries(schema.properties ?? {})) visit(field, at(`properties[${name}]`), false)
}
