// Finds keys by a value of the object: by the uid of its owner, by the name it refers to. Most values have one key, so
// a lone key is kept as it is and only the second one makes a set: ten thousand sets would cost megabytes.
import type { AnyObject } from '#api'

export type IndexFunction = (object: AnyObject) => readonly string[]

export interface Index {
  add(key: string, object: AnyObject): void
  remove(key: string, object: AnyObject): void
  keys(value: string): readonly string[]
}

export function createIndex(values: IndexFunction): Index {
  const byValue = new Map<string, string | Set<string>>()
  return {
    add(key, object) {
      for (const value of values(object)) {
        const held = byValue.get(value)
        if (held === undefined || held === key) byValue.set(value, key)
        else if (typeof held === 'string') byValue.set(value, new Set([held, key]))
        else held.add(key)
      }
    },
    remove(key, object) {
      for (const value of values(object)) {
        const held = byValue.get(value)
        if (held === key) byValue.delete(value)
        if (!(held instanceof Set)) continue
        held.delete(key)
        if (held.size === 0) byValue.delete(value)
      }
    },
    keys(value) {
      const held = byValue.get(value)
      if (held === undefined) return []
      return typeof held === 'string' ? [held] : [...held]
    },
  }
}
