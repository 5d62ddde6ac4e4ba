// JSON as a type, and what every module does with it: canonical text, deep equality, fields of unknown values.
import { ownValue, setOwnValue } from './own.ts'

/** A bigint is an integer beyond 2^53; see integers.ts. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** Keys sorted at every level, undefined dropped: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value))
}

/** What is in order already, as most that an API server sends, is handed on as it is: copies are what costs here. */
function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return sortedItems(value)
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return sorted(toJSON.call(value, ''))
  const record = value as Record<string, unknown>
  const keys = Object.keys(record)
  let isInOrder = true
  for (let i = 1; i < keys.length && isInOrder; i++) isInOrder = keys[i - 1]! < keys[i]!
  if (!isInOrder) keys.sort()
  let copy: [string, unknown][] | undefined = isInOrder ? undefined : []
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!
    const inner = sorted(record[key])
    if (!copy && inner !== record[key]) copy = keys.slice(0, i).map((before) => [before, record[before]])
    copy?.push([key, inner])
  }
  return copy ? Object.fromEntries(copy) : value
}

function sortedItems(items: readonly unknown[]): unknown {
  let copy: unknown[] | undefined
  for (let i = 0; i < items.length; i++) {
    const inner = sorted(items[i])
    if (!copy && inner !== items[i]) copy = items.slice(0, i)
    copy?.push(inner)
  }
  return copy ?? items
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/** The fields of an object; none of any other value. */
export function fieldsOf(value: unknown): Record<string, unknown> {
  return isPlainObject(value) ? value : {}
}

/** The same fields without those whose value is undefined. */
export function definedFields<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>
}

/** Deep equality of JSON values; a key whose value is undefined equals a key that is absent. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => jsonEqual(item, b[i]))
  if (!isPlainObject(a) || !isPlainObject(b)) return false
  // No lists of keys: this compares what every event says with what is known.
  for (const key in a) if (Object.hasOwn(a, key) && !jsonEqual(a[key], ownValue(b, key))) return false
  for (const key in b) if (Object.hasOwn(b, key) && b[key] !== undefined && !Object.hasOwn(a, key)) return false
  return true
}

/** A copy of a JSON value, all the way down. */
export function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T
  if (!isPlainObject(value)) return value
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    setOwnValue(copy, key, copyOf(value[key]))
  }
  return copy as T
}
