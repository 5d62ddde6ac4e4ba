// The runtime check of our kinds: what a server would refuse, and besides that every unknown field, in words for people.
import { closest, isPlainObject, type Json } from '#lib'
import type { Kind, KindOf } from './define-kind.ts'
import { replacementOf } from './manifest/retired.ts'
import type { UnknownObject } from './object.ts'
import { childSchema, type JsonSchema, matches } from './schema/build.ts'
import { compileSchema } from './schema/compile.ts'
import { RULES_NOT_CHECKED } from './schema/faults.ts'
import { quote } from './schema/go-text.ts'
import type { Fault } from './schema/index.ts'

/** One thing wrong with an object, for people. */
export interface ObjectFault {
  /** `spec.vpcConfig.name`; empty for the object as a whole. */
  readonly path: string
  /** What is wrong, without the path. */
  readonly message: string
  readonly hint?: string
}

interface Checked<K> {
  /** The object as a server would keep it: unknown fields gone, defaults filled in. */
  readonly object: KindOf<K>
  readonly faults: readonly ObjectFault[]
}

export function checkObject<S, T>(kind: Kind<S, T>, object: UnknownObject, old?: UnknownObject): Checked<Kind<S, T>> {
  const engine = compileSchema(kind.schema)
  const admit = (value: UnknownObject) => engine.prune(engine.applyDefaults(value as unknown as Json))
  const { value, unknown } = admit(object)
  const faults = [
    ...checkMetadata(object),
    ...unknown.map((path) => unknownField(kind, path)),
    ...withPatternsInWords(
      kind.schema,
      engine
        .validate(value, old && admit(old).value)
        .filter((fault) => fault !== RULES_NOT_CHECKED)
        .map((fault) => toObjectFault(kind.schema, fault)),
    ),
  ]
  return { object: value as unknown as KindOf<Kind<S, T>>, faults }
}

function unknownField({ kind, schema }: Pick<Kind, 'kind' | 'schema'>, path: string): ObjectFault {
  const replacement = replacementOf(kind, path)
  if (replacement !== undefined) return { path, message: 'is a field that capt does not have', hint: replacement }
  const steps = stepsOf(path)
  const name = String(steps.at(-1))
  const parent = schemaAt(schema, steps.slice(0, -1))
  const meant = closest(name, Object.keys(parent?.properties ?? {}))
  const message = 'unknown field'
  if (meant) return { path, message, hint: `did you mean ${meant}?` }
  const known = Object.keys(parent?.properties ?? {})
  return known.length === 0 ? { path, message } : { path, message, hint: `known here: ${known.join(', ')}` }
}

const BY_PATTERN = /^(".*" )?should match '.*'$/s

/** A pattern is refused by itself and by the rule that has its words: the words stay, after the value unless it is empty. */
function withPatternsInWords(schema: JsonSchema, faults: readonly ObjectFault[]): readonly ObjectFault[] {
  const wordsFor = ({ path }: ObjectFault): string | undefined => {
    const { pattern, 'x-kubernetes-validations': rules } = schemaAt(schema, stepsOf(path)) ?? {}
    return pattern === undefined ? undefined : rules?.find(({ rule }) => rule === matches(pattern))?.message
  }
  return faults.flatMap((fault) => {
    const words = wordsFor(fault)
    if (words === undefined) return [fault]
    const isRepeated = faults.some(({ path, message }) => path === fault.path && BY_PATTERN.test(message))
    if (fault.message === words) return isRepeated ? [] : [fault]
    const refused = BY_PATTERN.exec(fault.message)
    return refused ? [{ ...fault, message: `${refused[1] ?? ''}${words}` }] : [fault]
  })
}

/** An object or a list in the server's words has the name of its Go type in front. */
const withoutGoTypes = (text: string): string => text.replaceAll(/(map\[string\]|\[\])interface \{\}\{/g, '{')

/** The server's words with the repetitions taken out. */
function toObjectFault(schema: JsonSchema, fault: Fault): ObjectFault {
  const path = fault.at ?? (fault.path === '<nil>' ? '' : fault.path)
  const body = withoutGoTypes(fault.message.slice(fault.path.length + 2)).replaceAll(`${path} in body `, '')
  const described = schemaAt(schema, stepsOf(path))?.description
  switch (fault.type) {
    case 'Required':
      return {
        path,
        message: body.replace(/^Required value/, 'is required'),
        ...(described ? { hint: described } : {}),
      }
    case 'TypeInvalid': {
      const [, wanted, got] = /must be of type (\S+): "?([^"]*)"?$/.exec(body) ?? []
      const hint = wanted === 'string' && got !== 'object' && got !== 'array' ? { hint: 'put the value in quotes' } : {}
      return wanted ? { path, message: `must be of type ${wanted}, not ${got}`, ...hint } : { path, message: body }
    }
    case 'NotSupported':
      return { path, message: body.replace(/^Unsupported value: (.*): supported values: /, '$1 is not one of ') }
    case 'Duplicate':
      return { path, message: body.replace(/^Duplicate value: (.*)$/, '$1 stands there twice') }
    case 'Forbidden':
      return { path, message: body.replace(/^Forbidden: /, '') }
    case 'TooLong':
      return {
        path,
        message: body.replace(/^Too long: may not be more than (\d+) bytes/, 'is too long: at most $1 characters'),
      }
    case 'TooMany':
      return { path, message: body.replace(/^Too many: (\d+): must have/, '$1 are too many: must have') }
    default:
      return {
        path,
        message: body
          .replace(/^Invalid value: ("(object|array|string|integer|number|boolean)?"): /, '')
          .replace(/^Invalid value: (.*): should /, '$1 should '),
      }
  }
}

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const NAMESPACE = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

function checkMetadata(object: UnknownObject): ObjectFault[] {
  const metadata: unknown = object.metadata
  if (!isPlainObject(metadata))
    return [{ path: 'metadata', message: 'is required', hint: 'give the object a name: metadata.name' }]
  const { name, generateName, namespace } = metadata
  const found: ObjectFault[] = []
  const wrong = (path: string, message: string, hint?: string) =>
    found.push({ path, message, ...(hint ? { hint } : {}) })
  if (name === undefined && generateName === undefined) wrong('metadata.name', 'is required')
  else if (name !== undefined && (typeof name !== 'string' || name.length > 253 || !NAME.test(name)))
    wrong(
      'metadata.name',
      `${JSON.stringify(name)} is not a name`,
      "use lower case letters, digits, '-' and '.', beginning and ending with a letter or digit",
    )
  if (namespace !== undefined && (typeof namespace !== 'string' || namespace.length > 63 || !NAMESPACE.test(namespace)))
    wrong('metadata.namespace', `${JSON.stringify(namespace)} is not a namespace`)
  for (const field of ['labels', 'annotations']) {
    const map = metadata[field]
    if (map !== undefined && map !== null && !isPlainObject(map)) wrong(`metadata.${field}`, 'must be a map of strings')
    for (const [key, value] of Object.entries(isPlainObject(map) ? map : {}))
      if (typeof value !== 'string')
        wrong(
          `metadata.${field}[${key}]`,
          `must be of type string, not ${typeof value}`,
          `put the value in quotes: ${key}: ${quote(String(value))}`,
        )
  }
  return found
}

/** `spec.vars[2].key` as `['spec', 'vars', 2, 'key']`. Map keys with dots come apart; readers join them again. */
function stepsOf(path: string): (string | number)[] {
  return [...path.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g)].map(([, inner, name]) => {
    if (inner === undefined) return name!
    return /^\d+$/.test(inner) ? Number(inner) : inner
  })
}

function schemaAt(schema: JsonSchema, steps: readonly (string | number)[]): JsonSchema | undefined {
  let node: JsonSchema | undefined = schema
  for (const step of steps) {
    node = typeof step === 'number' ? node?.items : childSchema(node, step)
  }
  return node
}
