// The objects of one kind: those read lately as they are, the others packed. What every event is compared with (uid and
// resourceVersion) and the summaries that callers list are kept beside them, so that neither needs unpacking.
import type { AnyObject } from '#api'
import { createPacker, type Packed, unpack } from '#lib'
import type { Projected, Summarize } from '../port.ts'

type Item = Projected<AnyObject>

/** Which object, and which version of it. */
export interface ObjectVersion {
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
}

interface PackedObjects {
  readonly size: number
  version(key: string): ObjectVersion | undefined
  get(key: string): Item | undefined
  /** Like `get`, for a caller that reads many: the set of objects kept unpacked stays as it is. */
  peek(key: string): Item
  /** The first call computes the summary of every object; later ones of those that changed since. */
  summary<S>(key: string, summarize: Summarize<S>): S
  set(key: string, object: Item): void
  /** Another version with the same content. */
  setVersion(key: string, object: Item): void
  delete(key: string): void
  keys(): readonly string[]
}

interface Entry {
  readonly uid: string | undefined
  /** Newer than the one in the packed text after `setVersion`. */
  resourceVersion: string | undefined
  /** By the position of their function in `summarizers`. */
  summaries: unknown[] | undefined
  /** At least one of the two is set. */
  object: Item | undefined
  packed: Packed | undefined
}

/** Objects of a kind that stay unpacked: about as many as are reconciled at the same time. */
const UNPACKED = 32
/** Summaries are kept per function: a closure made for each call would fill the memory. */
const MAX_SUMMARIZERS = 4

export function createPackedObjects(maxUnpacked = UNPACKED): PackedObjects {
  const entries = new Map<string, Entry>()
  // Least recently used first.
  const unpacked = new Map<string, Entry>()
  const packer = createPacker()
  const summarizers: Summarize<unknown>[] = []

  function touch(key: string, entry: Entry): void {
    unpacked.delete(key)
    unpacked.set(key, entry)
    if (unpacked.size <= maxUnpacked) return
    for (const [oldest, one] of unpacked) {
      unpacked.delete(oldest)
      one.packed ??= packer.pack(one.object)
      one.object = undefined
      return
    }
  }

  function read(entry: Entry): Item {
    if (entry.object) return entry.object
    const object = unpack<{ metadata: { resourceVersion?: string } }>(entry.packed!)
    if (entry.resourceVersion !== undefined) object.metadata.resourceVersion = entry.resourceVersion
    return object as Item
  }

  /** Before an object can be packed, so that no object is unpacked for it later. */
  const summarizeAll = (object: Item): unknown[] | undefined =>
    summarizers.length === 0 ? undefined : summarizers.map((summarize) => summarize(object))

  function positionOf(summarize: Summarize<unknown>): number {
    const known = summarizers.indexOf(summarize)
    if (known >= 0) return known
    if (summarizers.length === MAX_SUMMARIZERS) throw new Error('a summary must be a function that is defined once')
    summarizers.push(summarize)
    for (const entry of entries.values()) entry.summaries = [...(entry.summaries ?? []), summarize(read(entry))]
    return summarizers.length - 1
  }

  return {
    get size() {
      return entries.size
    },
    version: (key) => entries.get(key),
    get(key) {
      const entry = entries.get(key)
      if (!entry) return undefined
      entry.object = read(entry)
      touch(key, entry)
      return entry.object
    },
    peek: (key) => read(entries.get(key)!),
    summary<S>(key: string, summarize: Summarize<S>) {
      const position = positionOf(summarize)
      return entries.get(key)!.summaries![position] as S
    },
    set(key, object) {
      const { uid, resourceVersion } = object.metadata
      const entry = { uid, resourceVersion, summaries: summarizeAll(object), object, packed: undefined }
      entries.set(key, entry)
      touch(key, entry)
    },
    setVersion(key, object) {
      const entry = entries.get(key)!
      entry.resourceVersion = object.metadata.resourceVersion
      if (entry.object) entry.object = object
    },
    delete(key) {
      entries.delete(key)
      unpacked.delete(key)
    },
    keys: () => [...entries.keys()],
  }
}
