// Pairs each part of a new value with the same part of the old one, so that an unchanged fault can be tolerated on update.
// Lists pair their items only when they are maps by key; sets and atomic lists are one piece.
import { canonicalJson, isPlainObject, type Json, jsonEqual } from '#lib'
import { childSchema, type JsonSchema } from './build.ts'

export class Correlation {
  readonly value: Json
  readonly old: Json
  readonly #schema: JsonSchema
  #equal: boolean | undefined

  constructor(value: Json, old: Json, schema: JsonSchema) {
    this.value = value
    this.old = old
    this.#schema = schema
  }

  /** The pair one level down; undefined when the old value has no counterpart. */
  field(name: string): Correlation | undefined {
    const { value, old } = this
    if (!isPlainObject(value) || !isPlainObject(old)) return undefined
    if (!Object.hasOwn(value, name) || !Object.hasOwn(old, name)) return undefined
    const schema = childSchema(this.#schema, name)
    return schema && new Correlation(value[name] as Json, old[name] as Json, schema)
  }

  item(index: number): Correlation | undefined {
    const { value, old } = this
    const { items, 'x-kubernetes-list-type': listType } = this.#schema
    if (!Array.isArray(value) || !Array.isArray(old) || listType !== 'map' || !items) return undefined
    const before = findByKeys(this.#schema, old, value[index])
    return before === undefined ? undefined : new Correlation(value[index], before, items)
  }

  /** Whether nothing changed here. What no schema speaks of, and items without a key, always count as changed. */
  get unchanged(): boolean {
    this.#equal ??= this.#compare()
    return this.#equal
  }

  #compare(): boolean {
    const { value, old } = this
    if (Array.isArray(value) && this.#schema['x-kubernetes-list-type'] === 'map')
      return (
        Array.isArray(old) && value.length === old.length && value.every((_, i) => this.item(i)?.unchanged === true)
      )
    if (!isPlainObject(value) || !isPlainObject(old)) return jsonEqual(value, old)
    const names = Object.keys(value)
    return names.length === Object.keys(old).length && names.every((name) => this.field(name)?.unchanged === true)
  }
}

/** Items of a map list by the text of their keys; lists are values that nobody changes, so each is read once. */
const indexes = new WeakMap<readonly Json[], ReadonlyMap<string, Json>>()

function indexOf(list: readonly Json[], keys: readonly string[]): ReadonlyMap<string, Json> {
  const known = indexes.get(list)
  if (known) return known
  const index = new Map<string, Json>()
  for (const item of list) {
    const text = isPlainObject(item) ? keyText(item, keys) : undefined
    if (text !== undefined && !index.has(text)) index.set(text, item)
  }
  indexes.set(list, index)
  return index
}

/** Undefined when the item lacks a key. */
function keyText(item: Readonly<Record<string, unknown>>, keys: readonly string[]): string | undefined {
  if (keys.some((key) => !Object.hasOwn(item, key))) return undefined
  return canonicalJson(keys.map((key) => item[key]))
}

/** The item of a map list that has the same keys as `wanted`; none when `wanted` lacks one. */
export function findByKeys(schema: JsonSchema, list: readonly Json[], wanted: Json | undefined): Json | undefined {
  if (!isPlainObject(wanted)) return undefined
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const text = keyText(wanted, keys)
  return text === undefined ? undefined : indexOf(list, keys).get(text)
}
