// Sets of fields, as managedFields records them. In memory a set is a map from path to the value that stands there;
// on the wire it is a tree (`{"f:spec":{"f:replicas":{}}}`).
import type { JsonSchema } from '#api'
import { isPlainObject, parseJson } from '#lib'
import { typeName } from '../builtin/types.ts'
import { fieldSchema, isAtomicMap, itemKey, listShape } from './shape.ts'

/** Steps of a path: `f:name`, `k:{"name":"x"}`, `v:"x"`. Joined by NUL, which no step contains. */
export type FieldPath = string
const SEPARATOR = '\u0000'

/** Value is undefined for a path that is a member without being a leaf (an item of a list, a key of a map). */
export type FieldSet = ReadonlyMap<FieldPath, unknown>

export const joinPath = (...steps: readonly string[]): FieldPath => steps.join(SEPARATOR)
export const stepsOf = (path: FieldPath): readonly string[] => path.split(SEPARATOR)

/** Every field that a value sets, with leaves where merging stops. */
export function fieldsOf(value: unknown, schema: JsonSchema): FieldSet {
  const set = new Map<FieldPath, unknown>()
  collect(value, schema, [], set)
  return set
}

/** Paths of maps, lists and unnamed structures that hold fields: a field manager that adds a whole one owns it too. */
export function containersOf(value: unknown, schema: JsonSchema, steps: readonly string[] = []): Set<FieldPath> {
  const found = new Set<FieldPath>()
  const enter = (inner: unknown, innerSchema: JsonSchema, at: readonly string[]) => {
    const isContainer = Array.isArray(inner)
      ? listShape(innerSchema).is !== 'atomic'
      : isPlainObject(inner) && !isAtomicMap(innerSchema)
    if (!isContainer) return
    if (Object.keys(inner as object).length > 0 && typeName(innerSchema) === undefined) found.add(joinPath(...at))
    for (const path of containersOf(inner, innerSchema, at)) found.add(path)
  }
  if (Array.isArray(value)) {
    const shape = listShape(schema)
    for (const item of shape.is === 'map' ? value : []) {
      const key = itemKey(item, shape.is === 'map' ? shape.keys : [], schema.items)
      if (key !== undefined)
        for (const path of containersOf(item, schema.items ?? {}, [...steps, `k:${key}`])) found.add(path)
    }
    return found
  }
  if (!isPlainObject(value)) return found
  for (const [field, inner] of Object.entries(value)) {
    const known = fieldSchema(schema, field)
    if (known) enter(inner, known.schema, [...steps, `f:${field}`])
  }
  return found
}

const NODE = undefined

function collect(value: unknown, schema: JsonSchema, steps: readonly string[], set: Map<FieldPath, unknown>): void {
  if (isPlainObject(value) && !isAtomicMap(schema)) collectFields(value, schema, steps, set)
  else if (Array.isArray(value)) collectItems(value, schema, steps, set)
  else set.set(joinPath(...steps), value)
}

function collectItems(
  value: readonly unknown[],
  schema: JsonSchema,
  steps: readonly string[],
  set: Map<FieldPath, unknown>,
): void {
  const shape = listShape(schema)
  if (shape.is === 'atomic') {
    set.set(joinPath(...steps), value)
    return
  }
  for (const item of value) {
    if (shape.is === 'set') {
      set.set(joinPath(...steps, `v:${JSON.stringify(item)}`), item)
      continue
    }
    const key = itemKey(item, shape.keys, schema.items)
    if (key === undefined) continue
    const at = [...steps, `k:${key}`]
    set.set(joinPath(...at), NODE)
    collect(item, schema.items ?? {}, at, set)
  }
}

function collectFields(
  value: Record<string, unknown>,
  schema: JsonSchema,
  steps: readonly string[],
  set: Map<FieldPath, unknown>,
): void {
  for (const [field, inner] of Object.entries(value)) {
    const found = fieldSchema(schema, field)
    if (!found || inner === undefined) continue
    const at = [...steps, `f:${field}`]
    const isEmpty = isPlainObject(inner) && Object.keys(inner).length === 0
    if (isEmpty) set.set(joinPath(...at), inner)
    else {
      if (!found.named && isPlainObject(inner)) set.set(joinPath(...at), NODE)
      collect(inner, found.schema, at, set)
    }
  }
}

/** The set with every path that leads to one of its members. */
export function withParents(paths: Iterable<FieldPath>): Set<FieldPath> {
  const all = new Set<FieldPath>()
  for (const path of paths) {
    let current = path
    while (current !== '' && !all.has(current)) {
      all.add(current)
      current = current.slice(0, Math.max(0, current.lastIndexOf(SEPARATOR)))
    }
  }
  return all
}

/** Leaves of a level first, then what lies deeper: the order in which conflicts are listed. */
export function comparePaths(a: FieldPath, b: FieldPath): number {
  const [x, y] = [stepsOf(a), stepsOf(b)]
  let i = 0
  while (i < x.length && x[i] === y[i]) i += 1
  const [isLeafX, isLeafY] = [i >= x.length - 1, i >= y.length - 1]
  if (isLeafX !== isLeafY) return isLeafX ? -1 : 1
  return (x[i] ?? '') < (y[i] ?? '') ? -1 : 1
}

type Tree = { [step: string]: Tree }

export function toFieldsV1(paths: Iterable<FieldPath>): Tree {
  const tree: Tree = {}
  const members = new Set(paths)
  for (const path of [...members].sort()) {
    let node = tree
    for (const step of stepsOf(path)) {
      node[step] ??= {}
      node = node[step]
    }
    node['.'] = {}
  }
  dropLonelyDots(tree)
  return tree
}

/** A leaf is `{}`; only a member that has children says `.` about itself. */
function dropLonelyDots(tree: Tree): void {
  for (const [step, node] of Object.entries(tree)) {
    if (step === '.') continue
    const keys = Object.keys(node)
    if (keys.length === 1 && keys[0] === '.') delete node['.']
    else dropLonelyDots(node)
  }
}

export function fromFieldsV1(tree: unknown): Set<FieldPath> {
  const paths = new Set<FieldPath>()
  const walk = (node: unknown, steps: readonly string[]) => {
    if (!isPlainObject(node)) return
    const entries = Object.entries(node)
    if (steps.length > 0 && (entries.length === 0 || '.' in node)) paths.add(joinPath(...steps))
    for (const [step, inner] of entries) if (step !== '.') walk(inner, [...steps, step])
  }
  walk(tree, [])
  return paths
}

/** `.spec.containers[name="web"].image`, as conflicts are shown. */
export function pathText(path: FieldPath): string {
  return stepsOf(path)
    .map((step) => {
      const body = step.slice(2)
      if (step.startsWith('f:')) return `.${body}`
      if (step.startsWith('v:')) return `[=${body}]`
      const keys = Object.entries(parseJson(body) as Record<string, unknown>)
      return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`
    })
    .join('')
}
