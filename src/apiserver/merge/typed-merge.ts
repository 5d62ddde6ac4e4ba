// Merges an applied configuration into a live object by its schema, and removes fields that no manager applies any more.
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
function mergeOrdered(
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

/** The value without the fields and items at these paths; with a path goes everything below it. */
export function withoutPaths(value: unknown, schema: JsonSchema, paths: Iterable<FieldPath>): unknown {
  const root: Cut = { ends: false, below: new Map() }
  for (const path of paths) {
    let cut = root
    for (const step of stepsOf(path)) {
      const next = cut.below.get(step) ?? { ends: false, below: new Map() }
      cut.below.set(step, next)
      cut = next
    }
    cut.ends = true
  }
  return withoutCuts(value, schema, root)
}

/** Paths as a tree, so that a long list is walked once however many of its items go. */
interface Cut {
  ends: boolean
  readonly below: Map<string, Cut>
}

function withoutCuts(value: unknown, schema: JsonSchema | undefined, { below }: Cut): unknown {
  if (below.size === 0) return value
  if (Array.isArray(value)) {
    const shape = listShape(schema)
    const keys = shape.is === 'map' ? shape.keys : []
    const stepOf = (item: unknown) =>
      shape.is === 'set' ? `v:${JSON.stringify(item)}` : `k:${itemKey(item, keys, schema?.items) ?? ''}`
    return value.flatMap((item) => {
      const cut = below.get(stepOf(item))
      if (cut?.ends) return []
      return [cut ? withoutCuts(item, schema?.items, cut) : item]
    })
  }
  if (!isPlainObject(value)) return value
  const kept = Object.entries(value).flatMap(([field, inner]): [string, unknown][] => {
    const cut = below.get(`f:${field}`)
    if (cut?.ends) return []
    return [[field, cut ? withoutCuts(inner, fieldSchema(schema, field)?.schema, cut) : inner]]
  })
  return Object.fromEntries(kept)
}
