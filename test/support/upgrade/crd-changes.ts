// Finds what of a CustomResourceDefinition changed in a way that objects written before would not survive: something they
// may have is gone, means something else, or is checked more strictly.
import { isPlainObject } from '#lib'
import { matches } from '../../../src/api/schema/build.ts'

type Schema = Readonly<Record<string, unknown>>

export interface Definition {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly scope: string
    readonly names: Schema
    readonly versions: readonly {
      readonly name: string
      readonly served: boolean
      readonly storage: boolean
      readonly schema: { readonly openAPIV3Schema: Schema }
    }[]
  }
}

/** One line per change, `kind: path: what`. New fields, kinds and values are none. */
export function findBreaks(before: readonly Definition[], now: readonly Definition[]): readonly string[] {
  return before.flatMap((old) => {
    const found = now.find(({ metadata }) => metadata.name === old.metadata.name)
    if (!found) return [`${old.metadata.name}: is gone`]
    const lines = [
      ...(found.spec.scope === old.spec.scope ? [] : ['scope changed']),
      ...old.spec.versions.flatMap((version) => {
        const other = found.spec.versions.find(({ name }) => name === version.name)
        if (!other?.served) return [`version ${version.name} is not served`]
        const storage = version.storage && !other.storage ? [`version ${version.name} is not the stored one`] : []
        return [...storage, ...compare(version.schema.openAPIV3Schema, other.schema.openAPIV3Schema, '')]
      }),
    ]
    return lines.map((line) => `${String(old.spec.names['kind'])}: ${line}`)
  })
}

const UPPER = ['maxLength', 'maxItems', 'maxProperties', 'maximum'] as const
const LOWER = ['minLength', 'minItems', 'minProperties', 'minimum'] as const

function compare(before: Schema, now: Schema, path: string): readonly string[] {
  const at = (what: string) => `${path === '' ? '.' : path}: ${what}`
  const lines: string[] = []
  for (const key of [
    'type',
    'format',
    'pattern',
    'x-kubernetes-list-type',
    'x-kubernetes-preserve-unknown-fields',
    'default',
  ])
    if (!isSame(before[key], now[key]) && !(key === 'default' && before[key] === undefined))
      lines.push(at(`${key} was ${show(before[key])}, is ${show(now[key])}`))
  for (const key of UPPER)
    if (Number(now[key] ?? Infinity) < Number(before[key] ?? Infinity))
      lines.push(at(`${key} is ${show(now[key])}, was ${show(before[key])}`))
  for (const key of LOWER)
    if (Number(now[key] ?? -Infinity) > Number(before[key] ?? -Infinity))
      lines.push(at(`${key} is ${show(now[key])}, was ${show(before[key])}`))
  const values = listOf(now['enum'])
  if (values.length > 0)
    for (const value of before['enum'] === undefined ? ['anything'] : listOf(before['enum']))
      if (!values.includes(value)) lines.push(at(`no longer takes ${show(value)}`))
  const required = new Set(listOf(before['required']))
  for (const name of listOf(now['required']))
    if (!required.has(name) && fieldsOf(now)[String(name)]?.['default'] === undefined)
      lines.push(at(`requires ${String(name)}`))
  // The words of a pattern that was there before.
  const pattern = before['pattern']
  const rules = new Set([...rulesOf(before), ...(typeof pattern === 'string' ? [matches(pattern)] : [])])
  for (const rule of rulesOf(now)) if (!rules.has(withoutNew(rule, before))) lines.push(at(`has the rule ${rule}`))
  for (const [name, field] of Object.entries(fieldsOf(before))) {
    const other = fieldsOf(now)[name]
    if (other) lines.push(...compare(field, other, `${path}.${name}`))
    else lines.push(at(`has no ${name}`))
  }
  for (const inner of ['items', 'additionalProperties'] as const) {
    const [old, other] = [before[inner], now[inner]]
    if (isPlainObject(old) && isPlainObject(other)) lines.push(...compare(old, other, `${path}[]`))
    else if (isPlainObject(old)) lines.push(at(`has no ${inner}`))
  }
  return lines
}

const fieldsOf = (schema: Schema): Readonly<Record<string, Schema>> =>
  (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const rulesOf = (schema: Schema): readonly string[] =>
  listOf(schema['x-kubernetes-validations']).map((one) => String((one as Schema)['rule']))
/** A rule that exactly one of some fields is set, as it is for objects that have none of the new fields. */
function withoutNew(rule: string, before: Schema): string {
  const list = /^\[(.+)\]\.filter\(x, x\)\.size\(\) == 1$/.exec(rule)?.[1]
  if (list === undefined) return rule
  const isOld = (one: string): boolean => Object.keys(fieldsOf(before)).some((name) => one === `has(self.${name})`)
  return rule.replace(list, () => list.split(', ').filter(isOld).join(', '))
}
const show = (value: unknown): string => JSON.stringify(value) ?? 'nothing'
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
