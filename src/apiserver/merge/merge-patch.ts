// RFC 7386: objects merge, null removes, everything else replaces.
import { isPlainObject } from '#lib'

export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isPlainObject(patch)) return patch
  const out: Record<string, unknown> = isPlainObject(target) ? { ...target } : {}
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete out[field]
    else
      Object.defineProperty(out, field, {
        value: mergePatch(Object.hasOwn(out, field) ? out[field] : undefined, value),
        enumerable: true,
        configurable: true,
        writable: true,
      })
  }
  return out
}
