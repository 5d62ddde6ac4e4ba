// The work that goes on behind requests: dependents follow their owners, namespaces and definitions take their contents
// along. It reacts to what was written and never polls; at start it looks once at everything that a kill may have left.
// Chores are done in steps of one object, so that requests are answered while many objects go.
import { messageOf } from '#lib'
import { CRDS, isSame, NAMESPACES } from '../kinds/registry.ts'
import { SLICE_MS } from '../limits.ts'
import type { ApiObject } from '../object.ts'
import type { Change, Collection } from '../store/store.ts'
import type { World } from '../write/context.ts'
import { cleanDefinition } from './definition.ts'
import { forgetOldEvents } from './events.ts'
import { collectDependent, orphanDependents, releaseOwner } from './garbage.ts'
import { emptyNamespace } from './namespace.ts'
import type { Steps } from './stored.ts'

export interface Collector {
  stop(): void
}

/** One thing to look at again. Doing it twice is harmless, so the same text is queued once. */
interface Chore {
  readonly do: 'dependent' | 'owner' | 'orphan' | 'namespace' | 'definition' | 'events'
  /** A uid for the first three, a name for the next two. */
  readonly of: string
}

const FORGET_EVERY_MS = 5 * 60_000

export function createCollector(world: World, log: (message: string, error: unknown) => void): Collector {
  const queue = new Map<string, Chore>()
  let running = false
  let open = true

  const add = (chore: Chore) => {
    queue.set(JSON.stringify(chore), chore)
    if (running || !open) return
    running = true
    setImmediate(run)
  }

  let current: Steps | undefined

  function run(): void {
    const end = performance.now() + SLICE_MS
    while (open && performance.now() < end) {
      current ??= takeNext()
      if (!current) break
      try {
        if (current.next().done) current = undefined
      } catch (error) {
        current = undefined
        log(`The collector could not finish a chore: ${messageOf(error)}`, error)
      }
    }
    if (open && (current || queue.size > 0)) return void setImmediate(run)
    running = false
  }

  function takeNext(): Steps | undefined {
    const next = queue.entries().next()
    if (next.done) return undefined
    const [key, chore] = next.value
    queue.delete(key)
    return PERFORM[chore.do](world, chore.of)
  }

  const unsubscribe = world.store.subscribe((change) => {
    for (const chore of choresFor(change)) add(chore)
  })
  for (const chore of leftovers(world)) add(chore)
  const forget = () => {
    if (!open) return
    add({ do: 'events', of: '' })
    timer = world.clock.after(FORGET_EVERY_MS, forget)
  }
  let timer = world.clock.after(FORGET_EVERY_MS, forget)

  return {
    stop() {
      open = false
      timer.cancel()
      unsubscribe()
    },
  }
}

function choresFor({ type, collection, object, previous }: Change): readonly Chore[] {
  const { uid, ownerReferences = [], namespace, deletionTimestamp, finalizers = [], name } = object.metadata
  const chores: Chore[] = []
  if (type === 'DELETED') {
    chores.push({ do: 'owner', of: uid! })
    for (const owner of ownerReferences) chores.push({ do: 'owner', of: owner.uid })
    if (namespace !== undefined) chores.push({ do: 'namespace', of: namespace })
    if (collection.group.includes('.'))
      chores.push({ do: 'definition', of: `${collection.resource}.${collection.group}` })
    return chores
  }
  const owners = (value: ApiObject | undefined) => JSON.stringify(value?.metadata.ownerReferences ?? [])
  if (owners(object) !== owners(previous?.object)) {
    chores.push({ do: 'dependent', of: uid! })
    for (const owner of previous?.object.metadata.ownerReferences ?? []) chores.push({ do: 'owner', of: owner.uid })
  }
  if (!deletionTimestamp) return chores
  if (finalizers.includes('foregroundDeletion')) chores.push({ do: 'owner', of: uid! })
  if (finalizers.includes('orphan')) chores.push({ do: 'orphan', of: uid! })
  if (isSame(collection, NAMESPACES)) chores.push({ do: 'namespace', of: name })
  else if (namespace !== undefined) chores.push({ do: 'namespace', of: namespace })
  if (isSame(collection, CRDS)) chores.push({ do: 'definition', of: name })
  return chores
}

/** After a kill: all that is being deleted, and every owner that an object still refers to. */
function leftovers({ store }: World): readonly Chore[] {
  const deleting = (collection: Collection) =>
    [...store.scan(collection)].filter((row) => row.text.includes('"deletionTimestamp"')).map((row) => row.name)
  return [
    ...store.ownerUids().flatMap((uid): Chore[] => [
      { do: 'owner', of: uid },
      { do: 'orphan', of: uid },
    ]),
    ...deleting(NAMESPACES).map((name): Chore => ({ do: 'namespace', of: name })),
    ...deleting(CRDS).map((name): Chore => ({ do: 'definition', of: name })),
  ]
}

const PERFORM: Readonly<Record<Chore['do'], (world: World, of: string) => Steps>> = {
  *dependent(world, of) {
    collectDependent(world, of)
    yield
  },
  owner: releaseOwner,
  orphan: orphanDependents,
  namespace: emptyNamespace,
  definition: cleanDefinition,
  events: forgetOldEvents,
}
