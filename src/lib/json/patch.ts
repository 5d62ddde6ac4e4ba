// Patches of JSON as kube-apiserver applies them: merge patches (RFC 7386) and JSON Patch (RFC 6902). In the latter negative
// indexes count from the end, and `copy` has a total limit, because a short patch that copies a value into itself doubles the
// document with every operation.
import { copyOf, fieldsOf, isPlainObject, jsonEqual } from './json.ts'
import { ownValue, setOwnValue } from './own.ts'

export interface PatchOperation {
  readonly op: string
  readonly path: string
  readonly from?: string
  readonly value?: unknown
}

interface PatchLimits {
  /** Bytes of JSON that all `copy` operations together may add. */
  readonly copyBytes?: number
  /** Called before every operation; throws to stop the patch. */
  readonly checkpoint?: () => void
}

/** A merge patch (RFC 7386) applied: objects merge, null removes, everything else replaces. Nothing given is changed. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isPlainObject(patch)) return patch
  const out = { ...fieldsOf(target) }
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete out[field]
    else if (value !== undefined) setOwnValue(out, field, mergePatch(ownValue(out, field), value))
  }
  return out
}

/** Why an operation cannot be applied. */
export class PatchError extends Error {
  readonly index: number

  constructor(index: number, message: string) {
    super(message)
    this.name = 'PatchError'
    this.index = index
  }
}

/** The patched value. `value` may be changed. */
export function applyJsonPatch(
  value: unknown,
  operations: readonly PatchOperation[],
  limits: PatchLimits = {},
): unknown {
  const document: Record<string, unknown> = { root: value }
  const { copyBytes = Number.POSITIVE_INFINITY } = limits
  let copied = 0
  for (const [index, operation] of operations.entries()) {
    limits.checkpoint?.()
    try {
      applyOne(document, operation, (source) => {
        copied += Buffer.byteLength(JSON.stringify(source) ?? '')
        if (copied <= copyBytes) return
        throw new Refusal(
          `Unable to complete the copy, the accumulated size increase of copy is ${copied}, exceeding the limit ${copyBytes}`,
        )
      })
    } catch (error) {
      throw error instanceof Refusal ? new PatchError(index, error.message) : error
    }
  }
  return document['root']
}

class Refusal extends Error {}

function applyOne(
  document: Record<string, unknown>,
  operation: PatchOperation,
  count: (source: unknown) => void,
): void {
  const { op, path, from = '' } = operation
  const target = () => locate(document, path)
  if (op === 'add') target().insert(copyOf(operation.value))
  else if (op === 'replace') target().replace(copyOf(operation.value))
  else if (op === 'remove') target().remove()
  else if (op === 'move') {
    if (path.startsWith(`${from}/`)) throw new Refusal(`${from} cannot be moved into itself`)
    const value = locate(document, from).read()
    locate(document, from).remove()
    target().insert(value)
  } else if (op === 'copy') {
    const value = locate(document, from).read()
    count(value)
    target().insert(copyOf(value))
  } else if (op === 'test') {
    if (!jsonEqual(target().find() ?? null, operation.value ?? null)) throw new Refusal(`testing value ${path} failed`)
  } else throw new Refusal(`unexpected kind: ${op}`)
}

/** One location of a pointer. `read`, `replace` and `remove` throw when nothing is there. */
interface Place {
  find(): unknown
  read(): unknown
  replace(value: unknown): void
  insert(value: unknown): void
  remove(): void
}

function locate(document: Record<string, unknown>, pointer: string): Place {
  if (pointer !== '' && !pointer.startsWith('/')) throw new Refusal(`"${pointer}" is not a JSON pointer`)
  const tokens = pointer.split('/').map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
  tokens[0] = 'root'
  const key = tokens.pop()!
  let parent: unknown = document
  for (const token of tokens) parent = childOf(parent, token, pointer)
  if (Array.isArray(parent)) return inList(parent, key, pointer)
  if (isPlainObject(parent)) return inMap(parent, key, pointer)
  throw missing(pointer)
}

const missing = (pointer: string) => new Refusal(`doc is missing path: ${pointer}: missing value`)

function childOf(parent: unknown, token: string, pointer: string): unknown {
  const child = Array.isArray(parent)
    ? parent[indexOf(token, parent.length, pointer)]
    : isPlainObject(parent)
      ? ownValue(parent, token)
      : undefined
  if (child === undefined) throw missing(pointer)
  return child
}

function inMap(map: Record<string, unknown>, key: string, pointer: string): Place {
  const read = () => {
    if (!Object.hasOwn(map, key)) throw missing(pointer)
    return map[key]
  }
  return {
    find: () => ownValue(map, key),
    read,
    replace(value) {
      read()
      setOwnValue(map, key, value)
    },
    insert: (value) => setOwnValue(map, key, value),
    remove() {
      read()
      delete map[key]
    },
  }
}

function inList(list: unknown[], key: string, pointer: string): Place {
  const at = () => indexOf(key, list.length, pointer)
  return {
    find: () => list[at()],
    read: () => list[at()],
    replace(value) {
      list[at()] = value
    },
    insert: (value) => void list.splice(key === '-' ? list.length : indexOf(key, list.length + 1, pointer), 0, value),
    remove: () => void list.splice(at(), 1),
  }
}

/** `length` is one more than the list has when an item is about to be inserted. */
function indexOf(token: string, length: number, pointer: string): number {
  if (!/^(0|-?[1-9]\d*)$/.test(token)) throw new Refusal(`"${token}" is not an index: ${pointer}`)
  const index = Number(token)
  const found = index < 0 ? index + length : index
  if (found < 0 || found >= length) throw new Refusal(`Unable to access invalid index: ${token}: ${pointer}`)
  return found
}
