// JSON as a type, and the two operations everybody needs: a canonical text and deep equality.
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** Keys sorted at every level, undefined dropped: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value))
}

/** What is in order already, as most that an API server sends, is handed on as it is: copies are what costs here. */
function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) {
    const items = value.map(sorted)
    return items.every((item, i) => item === value[i]) ? value : items
  }
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return sorted(toJSON.call(value, ''))
  const record = value as Record<string, unknown>
  const keys = Object.keys(record)
  const isInOrder = keys.every((key, i) => i === 0 || keys[i - 1]! < key)
  if (!isInOrder) keys.sort()
  const values = keys.map((key) => sorted(record[key]))
  if (isInOrder && values.every((item, i) => item === record[keys[i]!])) return value
  return Object.fromEntries(keys.map((key, i) => [key, values[i]]))
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/** Deep equality of JSON values; a key whose value is undefined equals a key that is absent. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => jsonEqual(item, b[i]))
  if (!isPlainObject(a) || !isPlainObject(b)) return false
  for (const key of Object.keys(a)) if (!jsonEqual(a[key], b[key])) return false
  for (const key of Object.keys(b)) if (b[key] !== undefined && !Object.hasOwn(a, key)) return false
  return true
}

/** A copy of a JSON value, all the way down. */
export function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T
  if (!isPlainObject(value)) return value
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    if (key === '__proto__') Object.defineProperty(copy, key, { value: copyOf(value[key]), ...PLAIN })
    else copy[key] = copyOf(value[key])
  }
  return copy as T
}

const PLAIN = { enumerable: true, configurable: true, writable: true }
