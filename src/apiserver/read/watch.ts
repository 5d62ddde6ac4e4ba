// Watches are cursors into history: they hold no queue. A slow reader simply falls behind, and when history has
// forgotten the place where it stands, it must list again. Nothing it does costs the server memory.
import type { Clock } from '#lib'
import { apiVersionIn } from '../kinds/resource.ts'
import type { ApiObject } from '../object.ts'
import { expired, StatusError, tooLargeVersion } from '../status.ts'
import type { Event } from '../store/history.ts'
import type { Position } from '../store/store.ts'
import { listPage, type Page, type PageRequest, parseVersion, refuseMatch, type VersionedStore } from './list.ts'
import { pick, type Selection } from './selection.ts'

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'

interface WatchSink {
  /** False when the reader is behind: nothing more is sent until `resume` is called. */
  send(type: WatchEventType, object: object): boolean
  end(): void
}

interface WatchRequest {
  /** Where to start; undefined means the present state first. */
  readonly from: number | undefined
  readonly bookmarks: boolean
  readonly initialEnd: boolean
  readonly timeoutMs: number | undefined
}

interface Watch {
  resume(): void
  stop(): void
}

const BOOKMARK_MS = 60_000
const INITIAL_PAGE = 200

export function readWatchRequest(query: URLSearchParams, current: number): WatchRequest {
  const asked = query.get('resourceVersion') ?? ''
  const initial = query.get('sendInitialEvents')
  const match = query.get('resourceVersionMatch') ?? ''
  const bookmarks = isTrue(query.get('allowWatchBookmarks'))
  const seconds = Number(query.get('timeoutSeconds') ?? 0)
  if (initial !== null && match !== 'NotOlderThan') {
    throw refuseMatch('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan')
  }
  if (initial === null && match !== '') {
    throw refuseMatch('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided')
  }
  const version = asked === '' || asked === '0' ? undefined : parseVersion(asked)
  if (version !== undefined && version > current) throw tooLargeVersion(version, current)
  const wantsInitial = initial !== null && isTrue(initial)
  const fromNow = initial !== null && !wantsInitial
  return {
    from: wantsInitial ? undefined : (version ?? (fromNow ? current : undefined)),
    bookmarks,
    initialEnd: wantsInitial && bookmarks,
    timeoutMs: seconds > 0 ? seconds * 1000 : undefined,
  }
}

const isTrue = (text: string | null) => text === 'true' || text === '1'

export function startWatch(
  stored: VersionedStore,
  selection: Selection,
  request: WatchRequest,
  sink: WatchSink,
  clock: Clock,
  defaultTimeoutMs: number,
): Watch {
  const { store, history } = stored
  const { collection } = selection.type
  let cursor = request.from ?? store.version()
  /** Set while the present state is still being sent. */
  let initial: { after?: Position } | undefined = request.from === undefined ? {} : undefined
  let open = true
  let ready = true

  const send = (type: WatchEventType, object: object) => {
    ready = sink.send(type, object)
  }
  /** History has forgotten the place where this watch stands. */
  const expire = () => {
    sink.send('ERROR', expired(`too old resource version: ${cursor} (${store.version()})`).status)
    stop()
  }

  function sendInitial(): void {
    while (open && ready && initial) {
      const from = initial.after ? { version: cursor, after: initial.after } : undefined
      const page = tryPage(stored, selection, { limit: INITIAL_PAGE, ...(from ? { from } : { exact: cursor }) })
      if (!page) {
        expire()
        return
      }
      for (const object of page.objects) send('ADDED', object)
      initial = page.next ? { after: page.next } : undefined
      if (!initial && request.initialEnd) sendBookmark({ 'k8s.io/initial-events-end': 'true' })
    }
  }

  function catchUp(): void {
    if (!open || !ready || cursor === store.version()) return
    const events = history.since(collection, cursor)
    if (!events) {
      expire()
      return
    }
    for (const event of events) {
      if (!open || !ready) return
      deliver(event)
    }
    cursor = store.version()
  }

  /** A listener must not fail: it would fail the write that it follows. */
  function deliver(event: Event): void {
    try {
      deliverUnchecked(event)
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      sink.send('ERROR', error.status)
      stop()
    }
  }

  function deliverUnchecked(event: Event): void {
    cursor = event.version
    if (selection.isEverything) {
      const object = pick(selection, copyOf(event.object))
      if (object) send(event.type, object)
      return
    }
    const now = event.type === 'DELETED' ? undefined : pick(selection, copyOf(event.object))
    const before = event.previous && pick(selection, copyOf(event.previous))
    if (now) send(before ? 'MODIFIED' : 'ADDED', now)
    else if (before) {
      send('DELETED', { ...before, metadata: { ...before.metadata, resourceVersion: `${event.version}` } })
    }
  }

  function sendBookmark(annotations?: Readonly<Record<string, string>>): void {
    const { type, version } = selection
    const apiVersion = apiVersionIn(type, version.name)
    const metadata = { resourceVersion: `${cursor}`, creationTimestamp: null, ...(annotations ? { annotations } : {}) }
    send('BOOKMARK', { kind: type.kind, apiVersion, metadata })
  }

  function pump(): void {
    sendInitial()
    if (!initial) catchUp()
  }

  function stop(): void {
    if (!open) return
    open = false
    unfollow()
    timeout.cancel()
    bookmark?.cancel()
    sink.end()
  }

  const unfollow = history.follow(collection, (event) => {
    if (!open || !ready || initial) return
    deliver(event)
  })
  const timeout = clock.after(request.timeoutMs ?? defaultTimeoutMs, stop)
  const scheduleBookmark = () =>
    clock.after(BOOKMARK_MS, () => {
      if (!open) return
      if (ready && !initial) {
        cursor = store.version()
        sendBookmark()
      }
      bookmark = scheduleBookmark()
    })
  let bookmark = request.bookmarks ? scheduleBookmark() : undefined
  pump()
  return {
    resume() {
      ready = true
      pump()
    },
    stop,
  }
}

/** Undefined when the version of the page is forgotten. */
function tryPage(stored: VersionedStore, selection: Selection, request: PageRequest): Page | undefined {
  try {
    return listPage(stored, selection, request)
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 410) return undefined
    throw error
  }
}

/** Conversion may change what it is given, and history keeps what it gave. */
function copyOf(object: ApiObject): ApiObject {
  return { ...object, metadata: { ...object.metadata } }
}
