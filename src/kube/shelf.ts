// Where a store keeps its objects: those that were asked for lately as they are, the others packed. What every event is
// compared with, and what is looked at in many objects at once (the brief), is at hand without unpacking.
import type { AnyObject } from '#api'
import { createPacker, type Packed, unpack } from '#lib'
import type { Projected } from './port.ts'

type Item = Projected<AnyObject>
export type Brief = (object: AnyObject) => AnyObject

/** Which object, and which version of it. */
export interface Head {
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
}

export interface Shelf {
  readonly size: number
  head(text: string): Head | undefined
  get(text: string): Item | undefined
  /** As `get`, for somebody who looks at many: what was asked for lately stays what it was. */
  peek(text: string): Item
  /** What is at hand of it; the whole object where no brief was agreed on. */
  brief(text: string): Item
  set(text: string, object: Item): void
  /** Another version that says what the one before said. */
  renew(text: string, object: Item): void
  delete(text: string): void
  keys(): readonly string[]
  /** Before anything is kept. */
  agree(brief: Brief): void
}

interface Held {
  readonly uid: string | undefined
  /** Newer than the one in the packed text, when that was renewed. */
  resourceVersion: string | undefined
  readonly brief: Item | undefined
  /** At least one of the two is there. */
  whole: Item | undefined
  packed: Packed | undefined
}

/** So many objects of a kind are ready to be read: about as many as are under way at the same time. */
const AT_HAND = 32

export function createShelf(atHand = AT_HAND): Shelf {
  const all = new Map<string, Held>()
  // In the order in which they were asked for.
  const lately = new Map<string, Held>()
  const packer = createPacker()
  let toBrief: Brief | undefined

  function touch(text: string, held: Held): void {
    lately.delete(text)
    lately.set(text, held)
    if (lately.size <= atHand) return
    for (const [oldest, one] of lately) {
      lately.delete(oldest)
      one.packed ??= packer.pack(one.whole)
      one.whole = undefined
      return
    }
  }

  function wholeOf(held: Held): Item {
    if (held.whole) return held.whole
    const object = unpack<{ metadata: { resourceVersion?: string } }>(held.packed!)
    if (held.resourceVersion !== undefined) object.metadata.resourceVersion = held.resourceVersion
    return object as Item
  }

  return {
    get size() {
      return all.size
    },
    head: (text) => all.get(text),
    get(text) {
      const held = all.get(text)
      if (!held) return undefined
      held.whole = wholeOf(held)
      touch(text, held)
      return held.whole
    },
    peek: (text) => wholeOf(all.get(text)!),
    brief(text) {
      const held = all.get(text)!
      return held.brief ?? wholeOf(held)
    },
    set(text, object) {
      const { uid, resourceVersion } = object.metadata
      const brief = toBrief && (toBrief(object) as Item)
      const held = { uid, resourceVersion, brief, whole: object, packed: undefined }
      all.set(text, held)
      touch(text, held)
    },
    renew(text, object) {
      const held = all.get(text)!
      held.resourceVersion = object.metadata.resourceVersion
      if (held.whole) held.whole = object
    },
    delete(text) {
      all.delete(text)
      lately.delete(text)
    },
    keys: () => [...all.keys()],
    agree(brief) {
      toBrief = brief
    },
  }
}
