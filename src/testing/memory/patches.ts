// How the memory cluster changes JSON: RFC 7386, RFC 6902, and apply as a merge without ownership.
import { KubeError, type Patch } from '#kube'
import { applyJsonPatch, isPlainObject, mergePatch, ownValue, PatchError, type PatchOperation, setOwnValue } from '#lib'

type Draft = Record<string, unknown>

export function patched(object: object, patch: Patch): Draft {
  if (patch.type === 'merge') return mergePatch(structuredClone(object), structuredClone(patch.body)) as Draft
  try {
    return applyJsonPatch(structuredClone(object), patch.body as readonly PatchOperation[]) as Draft
  } catch (error) {
    if (!(error instanceof PatchError)) throw error
    throw new KubeError('Invalid', `the JSON patch does not apply: ${error.message}`, { status: 422 })
  }
}

// Lists that a real server merges by key when it applies; every other list is replaced.
const LIST_KEYS: Readonly<Record<string, (item: unknown) => unknown>> = {
  'metadata.finalizers': (item) => item,
  'metadata.ownerReferences': (item) => (item as { uid?: string }).uid,
  'status.conditions': (item) => (item as { type?: string }).type,
}

export function applied(object: unknown, wanted: unknown, path = ''): unknown {
  const keyOfItem = ownValue(LIST_KEYS, path)
  if (Array.isArray(wanted) && Array.isArray(object) && keyOfItem) {
    const byKey = new Map(object.map((item: unknown) => [keyOfItem(item), item]))
    for (const item of wanted) byKey.set(keyOfItem(item), applied(byKey.get(keyOfItem(item)), item))
    return [...byKey.values()]
  }
  if (!isPlainObject(wanted)) return structuredClone(wanted)
  const result: Draft = isPlainObject(object) ? structuredClone(object) : {}
  for (const [field, value] of Object.entries(wanted)) {
    if (value === undefined) continue
    setOwnValue(result, field, applied(ownValue(result, field), value, path === '' ? field : `${path}.${field}`))
  }
  return result
}
