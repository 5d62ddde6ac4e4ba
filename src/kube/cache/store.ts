// The cached objects of one kind, with indexes. It tracks the version up to which the watch has reported, so that the answer
// to a write is visible at once and never brings back an object whose deletion was already observed.
import { type AnyObject, type Key, keyOf, keyText, toKey } from '#api'
import { jsonEqual } from '#lib'
import type { CacheQuery, Change, Projected, Summarize } from '../port.ts'
import { createIndex, type Index, type IndexFunction } from './indexes.ts'
import { createPackedObjects, type ObjectVersion } from './packed-objects.ts'
import { isNewer, newest } from './versions.ts'

type Item = Projected<AnyObject>
type Emit = (change: Change) => void

const MAX_TOMBSTONES = 1_000
/** More than writes are in flight at once: the watch reports each within moments. */
/** A list by index of at most this many objects is likely to be read again soon: its objects stay unpacked. */
const SHORT_LIST = 8

export interface Store {
  readonly size: number
  /** The newest resourceVersion up to which everything is known. */
  readonly progress: string | undefined
  get(key: Key): Item | undefined
  list(query?: CacheQuery): readonly Item[]
  keys(query?: CacheQuery): readonly Key[]
  summaries<S>(summarize: Summarize<S>, query?: CacheQuery): readonly S[]
  addIndex(name: string, values: IndexFunction): void
  /** From now on an update that changes nothing but the version is stored without an event. */
  ignoreUnchanged(): void
  /** From the watch. False when its versions went backwards: only a new list can be trusted then. */
  observe(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Item): boolean
  bookmark(resourceVersion: string): boolean
  /** The answer to a write of ours. */
  written(object: Item): void
  /** The answer to a delete that left nothing. */
  gone(key: Key, uid: string | undefined): void
  beginList(): Listing
}

interface Listing {
  add(object: Item): void
  /** Drops what the list did not have. */
  end(resourceVersion: string): void
  abandon(): void
}

export function createStore(emit: Emit): Store {
  const items = createPackedObjects()
  const indexes = new Map<string, Index>()
  // Uids whose deletion was observed, with its version where the watch reported it. An answer about one is outdated; so is
  // an event, unless it is newer: with a selector the watch also reports DELETED when an object leaves the selection.
  const tombstones = new Map<string, string | undefined>()
  // Keys written and uids deleted while a list is in progress: the list may be older.
  let duringList: { readonly written: Set<string>; readonly gone: Set<string> } | undefined
  let progress: string | undefined
  let ignoresUnchanged = false

  function put(text: string, object: Item): void {
    const known = items.version(text)
    if (known && known.resourceVersion === object.metadata.resourceVersion && isSame(known, object)) return
    const old = known && items.peek(text)
    if (ignoresUnchanged && old && hasSameContent(object, old)) {
      items.setVersion(text, object)
      return
    }
    for (const index of indexes.values()) {
      if (old) index.remove(text, old)
      index.add(text, object)
    }
    items.set(text, object)
    emit(old ? { type: 'updated', object, old } : { type: 'added', object })
  }

  function drop(text: string, last?: Item): void {
    if (!items.version(text)) return
    const old = items.peek(text)
    for (const index of indexes.values()) index.remove(text, old)
    items.delete(text)
    emit({ type: 'deleted', object: last ?? old, old })
  }

  function addTombstone(uid: string | undefined, version?: string): void {
    if (uid === undefined) return
    tombstones.set(uid, version)
    dropOldest(tombstones, MAX_TOMBSTONES)
  }

  function hasTombstone({ metadata: { uid = '', resourceVersion } }: Item): boolean {
    if (!tombstones.has(uid)) return false
    const since = tombstones.get(uid)
    if (since === undefined || !isNewer(resourceVersion, since)) return true
    tombstones.delete(uid)
    return false
  }

  function select({ index, value = '', namespace }: CacheQuery): readonly string[] {
    return (index === undefined ? items.keys() : find(indexes, index).keys(value)).filter(isIn(namespace))
  }

  function moveTo(version: string | undefined): boolean {
    if (isNewer(progress, version)) return false
    progress = newest(progress, version)
    return true
  }

  return {
    get size() {
      return items.size
    },
    get progress() {
      return progress
    },
    get: (key) => items.get(keyText(key)),
    list(query = {}) {
      const found = select(query)
      const isShort = query.index !== undefined && found.length <= SHORT_LIST
      return found.map(isShort ? (text) => items.get(text)! : items.peek)
    },
    keys: (query = {}) => select(query).map(toKey),
    summaries: (summarize, query = {}) => select(query).map((text) => items.summary(text, summarize)),
    addIndex(name, values) {
      if (indexes.has(name)) return
      const index = createIndex(values)
      for (const text of items.keys()) index.add(text, items.peek(text))
      indexes.set(name, index)
    },
    ignoreUnchanged() {
      ignoresUnchanged = true
    },
    observe(type, object) {
      if (!moveTo(object.metadata.resourceVersion)) return false
      const text = keyText(keyOf(object))
      const current = items.version(text)
      if (type === 'DELETED') {
        addTombstone(object.metadata.uid, object.metadata.resourceVersion)
        const isOther = current !== undefined && !isSame(current, object)
        if (!(isOther && isNewer(current.resourceVersion, object.metadata.resourceVersion))) drop(text, object)
        return true
      }
      if (hasTombstone(object)) return true
      if (current && isNewer(current.resourceVersion, object.metadata.resourceVersion)) return true
      put(text, object)
      return true
    },
    bookmark: moveTo,
    written(object) {
      const { uid = '', resourceVersion } = object.metadata
      const text = keyText(keyOf(object))
      const current = items.version(text)
      if (tombstones.has(uid) || !isNewer(resourceVersion, progress)) return
      if (current && !isNewer(resourceVersion, current.resourceVersion)) return
      duringList?.written.add(text)
      put(text, object)
    },
    gone(key, uid) {
      const text = keyText(key)
      const current = items.version(text)
      if (uid !== undefined) duringList?.gone.add(uid)
      addTombstone(uid)
      if (current && uid !== undefined && current.uid === uid) drop(text)
    },
    beginList() {
      const during = { written: new Set<string>(), gone: new Set<string>() }
      const listed = new Set<string>()
      duringList = during
      const isNewerWrite = (text: string, than: string | undefined) =>
        during.written.has(text) && isNewer(items.version(text)?.resourceVersion, than)
      return {
        add(object) {
          const text = keyText(keyOf(object))
          const uid = object.metadata.uid ?? ''
          if (during.gone.has(uid)) return
          listed.add(text)
          tombstones.delete(uid)
          if (!isNewerWrite(text, object.metadata.resourceVersion)) put(text, object)
        },
        end(resourceVersion) {
          duringList = undefined
          progress = resourceVersion
          for (const text of items.keys()) if (!listed.has(text) && !isNewerWrite(text, resourceVersion)) drop(text)
        },
        abandon() {
          duringList = undefined
        },
      }
    },
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  if (map.size > most) for (const oldest of map.keys()) return void map.delete(oldest)
}

function isSame(known: ObjectVersion, object: Item): boolean {
  return known.uid === object.metadata.uid
}

function hasSameContent(now: Item, before: Item): boolean {
  const { resourceVersion } = now.metadata
  return jsonEqual(now, { ...before, metadata: { ...before.metadata, resourceVersion } })
}

/** By the text of its key, so that no object is unpacked for it. */
function isIn(namespace: string | undefined): (text: string) => boolean {
  if (namespace === undefined) return () => true
  const start = keyText({ namespace, name: '' })
  return (text) => text.startsWith(start)
}

function find(indexes: ReadonlyMap<string, Index>, name: string): Index {
  const index = indexes.get(name)
  if (index) return index
  throw new Error(`no index ${name}: register it before the informers start`)
}
