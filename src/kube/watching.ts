// Reads one watch to its end: decodes each line, projects the object before anything is kept, and says why it ended.
// A connection that says nothing for too long is taken for dead.
import type { IncomingMessage } from 'node:http'
import type { AnyObject } from '#api'
import { type Clock, isPlainObject, parseJson } from '#lib'
import { toStatus } from './answers.ts'
import { createLines } from './lines.ts'
import type { Project } from './projection.ts'
import type { Store } from './store.ts'

export type WatchEnd =
  /** The server closed it in good order. */
  | { readonly is: 'closed' }
  /** Resume from the last version. `answered`: the server itself said no, it was not the network. */
  | {
      readonly is: 'broken'
      readonly why: string
      readonly answered?: boolean
      readonly retryAfterSeconds?: number | undefined
    }
  /** Nothing but a new list can be trusted. */
  | { readonly is: 'lost'; readonly why: string; readonly malformed?: boolean }

export interface Watching {
  readonly store: Store
  readonly project: Project
  readonly clock: Clock
  readonly silenceMs: number
  /** Anything arrived: the connection is worth something. */
  readonly onEvent: () => void
}

const CHANGES = new Set(['ADDED', 'MODIFIED', 'DELETED'])

export function readWatch(response: IncomingMessage, watching: Watching): Promise<WatchEnd> {
  return new Promise((resolve) => {
    const end = (how: WatchEnd) => {
      guard.cancel()
      response.removeAllListeners()
      // A late error of a connection we are done with is nobody's business.
      response.on('error', () => {})
      response.destroy()
      resolve(how)
    }
    const guard = watchSilence(watching, () => end({ is: 'broken', why: 'silence' }))
    let ended = false
    const lines = createLines((line) => {
      if (ended) return
      const verdict = take(line, watching)
      if (!verdict) return
      ended = true
      end(verdict)
    })
    response.on('data', (chunk: Buffer) => {
      guard.heard()
      try {
        lines.push(chunk)
      } catch (error) {
        end({ is: 'lost', why: (error as Error).message, malformed: true })
      }
    })
    response.on('end', () => end(lines.pending === 0 ? { is: 'closed' } : { is: 'broken', why: 'cut inside an event' }))
    response.on('error', (error) => end({ is: 'broken', why: error.message }))
    response.on('close', () => end({ is: 'broken', why: 'closed' }))
  })
}

/** Undefined: go on reading. */
function take(line: Buffer, { store, project, onEvent }: Watching): WatchEnd | undefined {
  const told = toVersion(line)
  if (told && store.hearEcho(told)) {
    onEvent()
    return undefined
  }
  // A string of its own: a slice of a bigger one would keep all of the bigger one in memory for as long as any part of it.
  const event = parse(line.toString('utf8'))
  if (!event) return { is: 'lost', why: 'a line that is not a watch event', malformed: true }
  const { type, object } = event
  if (type === 'ERROR') return toEnd(object)
  const metadata = object['metadata']
  if (!isPlainObject(metadata) || typeof metadata['resourceVersion'] !== 'string') {
    return { is: 'lost', why: 'an object without metadata.resourceVersion', malformed: true }
  }
  onEvent()
  const backwards: WatchEnd = { is: 'lost', why: 'resourceVersion went backwards' }
  if (type === 'BOOKMARK') return store.bookmark(metadata['resourceVersion']) ? undefined : backwards
  if (!CHANGES.has(type)) return { is: 'lost', why: `an event of type ${type.slice(0, 40)}`, malformed: true }
  const kept = project(object as unknown as AnyObject)
  return store.observe(type as 'ADDED' | 'MODIFIED' | 'DELETED', kept) ? undefined : backwards
}

const MODIFIED = Buffer.from('{"type":"MODIFIED"')
const ADDED = Buffer.from('{"type":"ADDED"')
const VERSION = Buffer.from('"resourceVersion":"')
const UID = Buffer.from('","uid":"')
const QUOTE = 0x22

/**
 * Which version of which object an event tells, as the API server spells it, found without reading the event: many tell
 * what a write of ours was answered with. Undefined where the two do not stand side by side as they should.
 */
function toVersion(line: Buffer): { readonly uid: string; readonly resourceVersion: string } | undefined {
  if (!startsWith(line, MODIFIED) && !startsWith(line, ADDED)) return undefined
  const version = line.indexOf(VERSION) + VERSION.length
  const end = line.indexOf(QUOTE, version)
  if (version < VERSION.length || end < 0 || !startsWith(line, UID, end)) return undefined
  const uid = end + UID.length
  const uidEnd = line.indexOf(QUOTE, uid)
  if (uidEnd < 0) return undefined
  return { resourceVersion: line.toString('latin1', version, end), uid: line.toString('latin1', uid, uidEnd) }
}

function startsWith(line: Buffer, bytes: Buffer, from = 0): boolean {
  return line.length >= from + bytes.length && bytes.compare(line, from, from + bytes.length) === 0
}

function parse(line: string): { type: string; object: Record<string, unknown> } | undefined {
  try {
    const value: unknown = parseJson(line)
    if (!isPlainObject(value) || typeof value['type'] !== 'string' || !isPlainObject(value['object'])) return undefined
    return { type: value['type'], object: value['object'] }
  } catch {
    return undefined
  }
}

function toEnd(object: Record<string, unknown>): WatchEnd {
  const status = toStatus(object)
  const code = typeof object['code'] === 'number' ? object['code'] : 0
  if (code === 410 || status?.reason === 'Expired' || status?.reason === 'Gone') return { is: 'lost', why: 'expired' }
  return {
    is: 'broken',
    why: `the server ended the watch: ${status?.message ?? code}`,
    answered: true,
    retryAfterSeconds: status?.details.retryAfterSeconds,
  }
}

function watchSilence({ clock, silenceMs }: Watching, onSilence: () => void) {
  let lastHeard = clock.monotonic()
  let timer = clock.after(silenceMs, check)
  // Re-armed when it fires, not for each byte: a busy watch would make thousands of timers.
  function check(): void {
    const left = lastHeard + silenceMs - clock.monotonic()
    if (left <= 0) onSilence()
    else timer = clock.after(left, check)
  }
  return {
    heard() {
      lastHeard = clock.monotonic()
    },
    cancel: () => timer.cancel(),
  }
}
