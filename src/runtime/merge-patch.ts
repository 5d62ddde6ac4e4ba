// The smallest RFC 7386 patch that turns one JSON value into another. Undefined and absent are the same thing.
import { isPlainObject, jsonEqual, ownValue, setOwnValue } from '#lib'

/** Undefined when there is nothing to change. Fields that went away become null, at any depth. */
export function mergePatchOf(
  from: Readonly<Record<string, unknown>>,
  to: Readonly<Record<string, unknown>>,
): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {}
  for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const before = ownValue(from, name)
    const after = ownValue(to, name)
    if (jsonEqual(before, after)) continue
    if (after === undefined || after === null) setOwnValue(patch, name, null)
    else if (isPlainObject(before) && isPlainObject(after)) setOwnValue(patch, name, mergePatchOf(before, after))
    else setOwnValue(patch, name, after)
  }
  return Object.keys(patch).length > 0 ? patch : undefined
}
