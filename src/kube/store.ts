// What an informer holds of one kind, with indexes. It knows how far the watch has told the story, so that an answer to
// a write can be shown early and can never bring back an object whose deletion was already seen.
import { type AnyObject, type Key, keyOf, keyText } from '#api'
import { jsonEqual } from '#lib'
import { createIndex, type Index, type IndexFunction } from './indexes.ts'
import type { CacheQuery, Change, Projected } from './port.ts'
import { type Brief, createShelf, type Head } from './shelf.ts'
import { isNewer, newest } from './versions.ts'

type Item = Projected<AnyObject>
type Emit = (change: Change) => void

const MAX_TOMBSTONES = 1_000
/** Many more than writes are under way at once: the watch tells of one within moments. */
const MAX_ECHOES = 64
/** A list of no more than these is one that is asked for again soon. */
const FEW = 8

export interface Store {
  readonly size: number
  /** The newest resourceVersion up to which everything is known. */
  readonly progress: string | undefined
  get(key: Key): Item | undefined
  list(query?: CacheQuery): readonly Item[]
  addIndex(name: string, values: IndexFunction): void
  /** What `list` answers of each object when it is asked to be brief; to be said before anything is kept. */
  setBrief(brief: Brief): void
  /** From now on an update that changes nothing but the version is kept and not told. */
  tellContentAlone(): void
  /** From the watch. False when the server's story went backwards and only a new list can be trusted. */
  observe(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Item): boolean
  bookmark(resourceVersion: string): boolean
  /** From the watch: true when it tells, once, what a write of ours was answered with, and nothing of it need be read. */
  hearEcho(version: Head): boolean
  /** The answer to a write of ours. */
  written(object: Item): void
  /** The answer to a delete that left nothing. */
  gone(key: Key, uid: string | undefined): void
  beginList(): Listing
}

export interface Listing {
  add(object: Item): void
  /** Drops what the list did not have. */
  end(resourceVersion: string): void
  abandon(): void
}

export function createStore(emit: Emit): Store {
  const items = createShelf()
  const indexes = new Map<string, Index>()
  // Uids whose deletion was seen, and its version where the watch told it. An answer about one is old news; so is an
  // event, unless it is newer: under a selector the watch also says DELETED of an object that merely left the selection.
  const tombstones = new Map<string, string | undefined>()
  // Keys by the version that a write was answered with: the watch is about to tell the same.
  const echoes = new Map<string, string>()
  // Keys written and uids deleted while a list is under way: the list may be older than they are.
  let duringList: { readonly written: Set<string>; readonly gone: Set<string> } | undefined
  let progress: string | undefined
  let isContentAlone = false

  function put(text: string, object: Item): void {
    const known = items.head(text)
    if (known && known.resourceVersion === object.metadata.resourceVersion && isSame(known, object)) return
    const old = known && items.peek(text)
    if (isContentAlone && old && hasSameContent(object, old)) {
      items.renew(text, object)
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
    if (!items.head(text)) return
    const old = items.peek(text)
    for (const index of indexes.values()) index.remove(text, old)
    items.delete(text)
    emit({ type: 'deleted', object: last ?? old, old })
  }

  function bury(uid: string | undefined, version?: string): void {
    if (uid === undefined) return
    tombstones.set(uid, version)
    forgetOldest(tombstones, MAX_TOMBSTONES)
  }

  function isBuried({ metadata: { uid = '', resourceVersion } }: Item): boolean {
    if (!tombstones.has(uid)) return false
    const since = tombstones.get(uid)
    if (since === undefined || !isNewer(resourceVersion, since)) return true
    tombstones.delete(uid)
    return false
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
      const keys = query.index === undefined ? undefined : find(indexes, query.index).keys(query.value ?? '')
      const wanted = (keys ?? items.keys()).filter(isIn(query.namespace))
      if (query.brief) return wanted.map(items.brief)
      return wanted.map(keys && wanted.length <= FEW ? (text) => items.get(text)! : items.peek)
    },
    addIndex(name, values) {
      if (indexes.has(name)) return
      const index = createIndex(values)
      for (const text of items.keys()) index.add(text, items.peek(text))
      indexes.set(name, index)
    },
    setBrief: items.agree,
    tellContentAlone() {
      isContentAlone = true
    },
    observe(type, object) {
      if (!moveTo(object.metadata.resourceVersion)) return false
      const text = keyText(keyOf(object))
      const current = items.head(text)
      if (type === 'DELETED') {
        bury(object.metadata.uid, object.metadata.resourceVersion)
        const isOther = current !== undefined && !isSame(current, object)
        if (!(isOther && isNewer(current.resourceVersion, object.metadata.resourceVersion))) drop(text, object)
        return true
      }
      if (isBuried(object)) return true
      if (current && isNewer(current.resourceVersion, object.metadata.resourceVersion)) return true
      put(text, object)
      return true
    },
    bookmark: moveTo,
    hearEcho({ uid, resourceVersion = '' }) {
      const text = echoes.get(resourceVersion)
      if (text === undefined || !echoes.delete(resourceVersion)) return false
      const current = items.head(text)
      if (current?.uid !== uid || isNewer(resourceVersion, current?.resourceVersion)) return false
      return moveTo(resourceVersion)
    },
    written(object) {
      const { uid = '', resourceVersion } = object.metadata
      const text = keyText(keyOf(object))
      const current = items.head(text)
      if (tombstones.has(uid) || !isNewer(resourceVersion, progress)) return
      if (current && !isNewer(resourceVersion, current.resourceVersion)) return
      duringList?.written.add(text)
      if (resourceVersion !== undefined) echoes.set(resourceVersion, text)
      forgetOldest(echoes, MAX_ECHOES)
      put(text, object)
    },
    gone(key, uid) {
      const text = keyText(key)
      const current = items.head(text)
      if (uid !== undefined) duringList?.gone.add(uid)
      bury(uid)
      if (current && uid !== undefined && current.uid === uid) drop(text)
    },
    beginList() {
      const during = { written: new Set<string>(), gone: new Set<string>() }
      const seen = new Set<string>()
      duringList = during
      const isYounger = (text: string, than: string | undefined) =>
        during.written.has(text) && isNewer(items.head(text)?.resourceVersion, than)
      return {
        add(object) {
          const text = keyText(keyOf(object))
          const uid = object.metadata.uid ?? ''
          if (during.gone.has(uid)) return
          seen.add(text)
          tombstones.delete(uid)
          if (!isYounger(text, object.metadata.resourceVersion)) put(text, object)
        },
        end(resourceVersion) {
          duringList = undefined
          progress = resourceVersion
          for (const text of items.keys()) if (!seen.has(text) && !isYounger(text, resourceVersion)) drop(text)
        },
        abandon() {
          duringList = undefined
        },
      }
    },
  }
}

function forgetOldest(map: Map<string, unknown>, most: number): void {
  if (map.size > most) for (const oldest of map.keys()) return void map.delete(oldest)
}

function isSame(known: Head, object: Item): boolean {
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
