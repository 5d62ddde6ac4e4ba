// `${key}` in the parsed spec: replaced per string value, never in text, so that a value can only ever be a value.
// `$${key}` means the text `${key}`. A plain name that nobody defines is reported, not passed on.
import type { Json } from '#lib'
import { isPlainObject } from '#lib'

interface Resolved<T> {
  readonly value: T
  /** Names in `${…}` that no variable defines, sorted. */
  readonly unresolved: readonly string[]
}

const PLACEHOLDER = /\$\$\{|\$\{([^{}\n]*)\}/g
const NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/

export function resolveValues<T extends Json>(value: T, values: Readonly<Record<string, string>>): Resolved<T> {
  const unresolved = new Set<string>()
  const resolveText = (text: string) =>
    text.replace(PLACEHOLDER, (whole, key: string | undefined) => {
      if (key === undefined) return '${'
      if (Object.hasOwn(values, key)) return values[key]!
      if (NAME.test(key)) unresolved.add(key)
      return whole
    })
  const walk = (item: unknown): unknown => {
    if (typeof item === 'string') return resolveText(item)
    if (Array.isArray(item)) return item.map(walk)
    if (!isPlainObject(item)) return item
    return Object.fromEntries(Object.entries(item).map(([key, inner]) => [key, walk(inner)]))
  }
  return { value: walk(value) as T, unresolved: [...unresolved].sort() }
}
