// Merges an applied configuration into a live object by its schema, and takes out fields that nobody wants any more.
import type { JsonSchema } from '#api'
import { isPlainObject, setOwnValue } from '#lib'
import { type FieldPath, stepsOf } from './field-set.ts'
import { fieldSchema, isAtomicMap, itemKey, listShape } from './shape.ts'

export function mergeTyped(live: unknown, config: unknown, schema: JsonSchema | undefined): unknown {
  if (isPlainObject(live) && isPlainObject(config) && !isAtomicMap(schema)) {
    const out: Record<string, unknown> = { ...live }
    for (const [field, value] of Object.entries(config)) {
      const isThere = Object.hasOwn(live, field)
      setOwnValue(out, field, isThere ? mergeTyped(live[field], value, fieldSchema(schema, field)?.schema) : value)
    }
    return out
  }
  if (!Array.isArray(live) || !Array.isArray(config)) return config
  const shape = listShape(schema)
  if (shape.is === 'atomic') return config
  const keyOf =
    shape.is === 'set'
      ? (item: unknown) => JSON.stringify(item)
      : (item: unknown) => itemKey(item, shape.keys, schema?.items) ?? JSON.stringify(item)
  const merge =
    shape.is === 'set'
      ? (_old: unknown, item: unknown) => item
      : (old: unknown, item: unknown) => mergeTyped(old, item, schema?.items)
  return mergeOrdered(live, config, keyOf, merge)
}

/** The new items in their order, each old item that is not among them kept behind the old neighbour it followed. */
export function mergeOrdered(
  old: readonly unknown[],
  next: readonly unknown[],
  keyOf: (item: unknown) => string,
  merge: (old: unknown, next: unknown) => unknown,
): unknown[] {
  const before = new Map(old.map((item) => [keyOf(item), item]))
  const wanted = new Map<string, number>()
  for (const [i, item] of next.entries()) if (!wanted.has(keyOf(item))) wanted.set(keyOf(item), i)
  /** Old items that follow the item at this place of `next`; those before all of them are at -1. */
  const followers = new Map<number, unknown[]>()
  let behind = -1
  for (const item of old) {
    const place = wanted.get(keyOf(item))
    if (place !== undefined) behind = place
    else if (followers.has(behind)) followers.get(behind)!.push(item)
    else followers.set(behind, [item])
  }
  const merged = next.map((item) => (before.has(keyOf(item)) ? merge(before.get(keyOf(item)), item) : item))
  return [...(followers.get(-1) ?? []), ...merged.flatMap((item, i) => [item, ...(followers.get(i) ?? [])])]
}

/** The value without the fields and items at these paths. Shorter paths take what is below them along. */
export function withoutPaths(value: unknown, schema: JsonSchema, paths: Iterable<FieldPath>): unknown {
  let out = value
  for (const path of [...paths].sort((a, b) => a.length - b.length)) out = withoutPath(out, schema, stepsOf(path))
  return out
}

function withoutPath(value: unknown, schema: JsonSchema | undefined, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return value
  const name = step.slice(2)
  if (step.startsWith('f:')) {
    if (!isPlainObject(value) || !Object.hasOwn(value, name)) return value
    const { [name]: inner, ...others } = value
    if (rest.length === 0) return others
    return { ...value, [name]: withoutPath(inner, fieldSchema(schema, name)?.schema, rest) }
  }
  if (!Array.isArray(value)) return value
  const shape = listShape(schema)
  const keys = shape.is === 'map' ? shape.keys : []
  const matches = (item: unknown) =>
    step.startsWith('v:') ? JSON.stringify(item) === name : itemKey(item, keys, schema?.items) === name
  if (rest.length === 0) return value.filter((item) => !matches(item))
  return value.map((item) => (matches(item) ? withoutPath(item, schema?.items, rest) : item))
}
