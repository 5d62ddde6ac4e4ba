// Merges Helm values the way Helm does: maps deeply, lists replaced, null removes the key.
import { isPlainObject, ownValue, setOwnValue } from '#lib'

export type Values = Readonly<Record<string, unknown>>

export function mergeValues(base: Values, over: Values): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(over)) {
    const below = ownValue(merged, key)
    if (value === null) delete merged[key]
    else setOwnValue(merged, key, isPlainObject(below) && isPlainObject(value) ? mergeValues(below, value) : value)
  }
  return merged
}
