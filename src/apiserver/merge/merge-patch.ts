// RFC 7386: objects merge, null removes, everything else replaces.
import { isPlainObject, ownValue, setOwnValue } from '#lib'

export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isPlainObject(patch)) return patch
  const out: Record<string, unknown> = isPlainObject(target) ? { ...target } : {}
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete out[field]
    else setOwnValue(out, field, mergePatch(ownValue(out, field), value))
  }
  return out
}
