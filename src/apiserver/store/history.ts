// What changed lately, in memory and bounded: watches resume from it, and lists are paged at the version of their first
// page with it. A request for an older version than it holds gets `undefined`, which becomes 410 Gone.
import { parseJson } from '#lib'
import type { ApiObject } from '../object.ts'
import type { Change, Collection, RealmStore, Row } from './store.ts'

export interface HistoryLimits {
  readonly changes: number
  readonly bytes: number
}

/** One remembered change, as text: parsing again is rarer than remembering. */
interface Remembered {
  readonly type: Change['type']
  readonly version: number
  readonly namespace: string
  readonly name: string
  readonly text: string
  readonly previous: string | undefined
}

export interface Event {
  readonly type: Change['type']
  readonly version: number
  readonly object: ApiObject
  readonly previous: ApiObject | undefined
}

export interface History {
  /** Changes after the version in order, or undefined when some of them are forgotten. */
  since(collection: Collection, version: number): readonly Event[] | undefined
  /** Rows that differ now from what they were at the version: `namespace/name` to their text then (or absent). */
  rewind(collection: Collection, version: number): ReadonlyMap<string, Row | undefined> | undefined
  follow(collection: Collection, listener: (event: Event) => void): () => void
}

const DEFAULT_LIMITS: HistoryLimits = { changes: 1000, bytes: 8 * 1024 * 1024 }

export function createHistory(store: RealmStore, limits: HistoryLimits = DEFAULT_LIMITS): History {
  const born = store.version()
  const books = new Map<string, Book>()
  const bookOf = ({ group, resource }: Collection): Book => {
    const key = `${group}/${resource}`
    const book = books.get(key) ?? { changes: [], bytes: 0, forgotten: born, followers: new Set() }
    books.set(key, book)
    return book
  }

  store.subscribe((change) => {
    const book = bookOf(change.collection)
    remember(book, change, limits)
    const event: Event = {
      type: change.type,
      version: change.version,
      object: change.object,
      previous: change.previous?.object,
    }
    for (const follower of book.followers) follower(event)
  })

  return {
    since(collection, version) {
      const book = bookOf(collection)
      if (version < book.forgotten) return undefined
      return later(book, version).map(toEvent)
    },
    rewind(collection, version) {
      const book = bookOf(collection)
      if (version < book.forgotten) return undefined
      const then = new Map<string, Row | undefined>()
      for (const { namespace, name, previous } of later(book, version)) {
        const key = `${namespace}/${name}`
        if (then.has(key)) continue
        then.set(key, previous === undefined ? undefined : { namespace, name, version, text: previous })
      }
      return then
    },
    follow(collection, listener) {
      const { followers } = bookOf(collection)
      followers.add(listener)
      return () => void followers.delete(listener)
    },
  }
}

interface Book {
  changes: Remembered[]
  bytes: number
  /** The highest version that is no longer remembered. */
  forgotten: number
  readonly followers: Set<(event: Event) => void>
}

function remember(book: Book, change: Change, limits: HistoryLimits): void {
  const { namespace = '', name } = change.object.metadata
  const { type, version, text } = change
  book.changes.push({ type, version, namespace, name, text, previous: change.previous?.text })
  book.bytes += sizeOf(book.changes.at(-1)!)
  if (book.changes.length <= limits.changes && book.bytes <= limits.bytes) return
  // Forget a tenth more than needed, so that moving the array is rare.
  let drop = 0
  let { bytes } = book
  const keep = { changes: limits.changes * 0.9, bytes: limits.bytes * 0.9 }
  while (drop < book.changes.length - 1 && (book.changes.length - drop > keep.changes || bytes > keep.bytes)) {
    bytes -= sizeOf(book.changes[drop]!)
    drop += 1
  }
  book.forgotten = book.changes[drop - 1]?.version ?? book.forgotten
  book.changes = book.changes.slice(drop)
  book.bytes = bytes
}

const sizeOf = (item: Remembered) => item.text.length + (item.previous?.length ?? 0)

function later(book: Book, version: number): readonly Remembered[] {
  let low = 0
  let high = book.changes.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (book.changes[middle]!.version > version) high = middle
    else low = middle + 1
  }
  return book.changes.slice(low)
}

function toEvent(item: Remembered): Event {
  return {
    type: item.type,
    version: item.version,
    object: parseJson(item.text) as ApiObject,
    previous: item.previous === undefined ? undefined : (parseJson(item.previous) as ApiObject),
  }
}
