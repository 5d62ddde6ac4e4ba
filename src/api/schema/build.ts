// Builds Kubernetes structural schema, and nothing else: what is written here is what the CRD says.
// Each builder returns a node that carries its JSON schema and, for the compiler only, the TypeScript type.
import { definedFields, type Json, ownValue } from '#lib'

/** The part of OpenAPI v3 that a structural schema may use. */
export interface JsonSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: JsonSchema | boolean
  readonly required?: readonly string[]
  readonly items?: JsonSchema
  readonly enum?: readonly Json[]
  readonly default?: Json
  readonly nullable?: boolean
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: boolean
  readonly exclusiveMaximum?: boolean
  readonly multipleOf?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly title?: string
  readonly example?: Json
  readonly not?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly 'x-kubernetes-validations'?: readonly Rule[]
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-map-type'?: 'granular' | 'atomic'
}

/** The schema of a field, or of the values of a map. */
export function childSchema(schema: JsonSchema | undefined, name: string): JsonSchema | undefined {
  const additional = schema?.additionalProperties
  return ownValue(schema?.properties, name) ?? (typeof additional === 'object' ? additional : undefined)
}

export function isEmbedded(schema: JsonSchema | undefined): boolean {
  return schema?.['x-kubernetes-embedded-resource'] === true
}

/** One CEL rule. `message` is what people read; `messageExpression` may add values. */
export interface Rule {
  readonly rule: string
  readonly message?: string
  readonly messageExpression?: string
  readonly fieldPath?: string
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate'
  readonly optionalOldSelf?: boolean
}

declare const typeOf: unique symbol
export interface Node<T, Defaulted extends boolean = false> {
  readonly schema: JsonSchema
  readonly defaulted: Defaulted
  readonly [typeOf]?: T
}
type TypeOf<N> = N extends Node<infer T, boolean> ? T : never

interface Common {
  /** One sentence for people: it becomes the description in the CRD and in the reference page. */
  readonly about?: string
  readonly rules?: readonly Rule[]
  readonly nullable?: boolean
}
type HasDefault<O> = O extends { readonly default: unknown } ? true : false

const node = <T, D extends boolean>(
  type: JsonSchema,
  options: Common & { readonly default?: Json | undefined } = {},
): Node<T, D> => {
  const { about, rules, nullable, default: fallback } = options
  return {
    schema: {
      ...type,
      ...(about === undefined ? {} : { description: about }),
      ...(fallback === undefined ? {} : { default: fallback }),
      ...(nullable ? { nullable } : {}),
      ...(rules === undefined || rules.length === 0 ? {} : { 'x-kubernetes-validations': rules }),
    },
    defaulted: (fallback !== undefined) as D,
  }
}

/** What a text looks like, for programs and for people. */
export interface Pattern {
  readonly regex: string
  /** `an AWS region`. */
  readonly means: string
  readonly example: string
}

/** The rule that a text matches. */
export const matches = (regex: string): string => `self.matches('${regex.replaceAll('\\', '\\\\')}')`

/** Says in words what a server would answer with the regular expression alone. */
const patternRule = ({ regex, means, example }: Pattern): Rule => ({
  rule: matches(regex),
  message: `must be ${means}, such as ${example}`,
})

interface StringOptions extends Common {
  readonly enum?: readonly string[]
  /** Without words only where no person writes the field. */
  readonly pattern?: Pattern | string
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly default?: string
}
type StringOf<O> = O extends { readonly enum: readonly (infer E extends string)[] } ? E : string

export function string<const O extends StringOptions>(options: O = {} as O): Node<StringOf<O>, HasDefault<O>> {
  const { enum: values, pattern: given, format, minLength, maxLength, rules = [] } = options
  const pattern = typeof given === 'object' ? given.regex : given
  const inWords = typeof given === 'object' ? [patternRule(given)] : []
  const type = { type: 'string', ...definedFields({ enum: values, pattern, format, minLength, maxLength }) } as const
  return node(type, { ...options, rules: [...inWords, ...rules] })
}

interface NumberOptions extends Common {
  readonly minimum?: number
  readonly maximum?: number
  readonly format?: 'int32' | 'int64'
  readonly default?: number
}
export function integer<const O extends NumberOptions>(options: O = {} as O): Node<number, HasDefault<O>> {
  const { minimum, maximum, format = 'int32' } = options
  return node({ type: 'integer', ...definedFields({ format, minimum, maximum }) }, options)
}

interface BooleanOptions extends Common {
  readonly default?: boolean
}
export function boolean<const O extends BooleanOptions>(options: O = {} as O): Node<boolean, HasDefault<O>> {
  return node({ type: 'boolean' }, options)
}

/** An RFC 3339 instant. */
export function time<const O extends Common>(options: O = {} as O): Node<string> {
  return node({ type: 'string', format: 'date-time' }, options)
}

interface ListOptions extends Common {
  readonly default?: readonly Json[]
  readonly minItems?: number
  readonly maxItems?: number
  readonly listType?: 'atomic' | 'set' | 'map'
  readonly mapKeys?: readonly string[]
}
export function list<T, D extends boolean, const O extends ListOptions>(
  items: Node<T, D>,
  options: O = {} as O,
): Node<readonly T[], HasDefault<O>> {
  const { minItems, maxItems, listType, mapKeys } = options
  const extra = definedFields({
    minItems,
    maxItems,
    'x-kubernetes-list-type': listType,
    'x-kubernetes-list-map-keys': mapKeys,
  })
  return node({ type: 'array', items: items.schema, ...extra }, options)
}

interface MapOptions extends Common {
  readonly default?: { readonly [key: string]: Json }
  readonly maxProperties?: number
}
export function map<T, D extends boolean, const O extends MapOptions>(
  values: Node<T, D>,
  options: O = {} as O,
): Node<Readonly<Record<string, T>>, HasDefault<O>> {
  const { maxProperties } = options
  return node({ type: 'object', additionalProperties: values.schema, ...definedFields({ maxProperties }) }, options)
}

type Fields = Readonly<Record<string, Node<unknown, boolean>>>
interface ObjectOptions extends Common {
  readonly required?: readonly string[]
  readonly default?: { readonly [key: string]: Json }
  readonly preserveUnknown?: boolean
  readonly minProperties?: number
}
type RequiredNames<F extends Fields, O> =
  | { [K in keyof F]: F[K] extends Node<unknown, true> ? K : never }[keyof F]
  | (O extends { readonly required: readonly (infer R)[] } ? R & keyof F : never)
type Flatten<T> = { readonly [K in keyof T]: T[K] }
type ObjectOf<F extends Fields, O> = Flatten<
  { [K in RequiredNames<F, O>]: TypeOf<F[K]> } & { [K in Exclude<keyof F, RequiredNames<F, O>>]?: TypeOf<F[K]> }
>

export function object<const F extends Fields, const O extends ObjectOptions>(
  fields: F,
  options: O & { readonly required?: readonly (keyof F & string)[] } = {} as O,
): Node<ObjectOf<F, O>, HasDefault<O>> {
  const { required, preserveUnknown, minProperties } = options
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.schema]))
  const extra = definedFields({
    required: required?.length ? required : undefined,
    minProperties,
    'x-kubernetes-preserve-unknown-fields': preserveUnknown || undefined,
  })
  return node({ type: 'object', properties, ...extra }, options)
}

/** Any JSON object; kept as it is. */
export function freeObject<const O extends Common>(options: O = {} as O): Node<{ readonly [key: string]: Json }> {
  return node({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, options)
}

export function intOrString<const O extends Common>(options: O = {} as O): Node<number | string> {
  return node({ 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] }, options)
}
