// Reads one watch to its end: decodes each line, projects each object before it is stored, and returns why it ended.
// A connection that is silent for too long counts as dead.
import type { IncomingMessage } from 'node:http'
import type { AnyObject } from '#api'
import { type Clock, isPlainObject, parseJson } from '#lib'
import { toStatus } from '../client/answers.ts'
import { createLines } from '../client/lines.ts'
import type { Project } from './projection.ts'
import type { Store } from './store.ts'

export type WatchEnd =
  /** The server closed it normally. */
  | { readonly is: 'closed' }
  /** Resume from the last version. `answered`: the server refused, it was not the network. */
  | {
      readonly is: 'broken'
      readonly why: string
      readonly answered?: boolean
      readonly retryAfterSeconds?: number | undefined
    }
  /** A new list is needed. */
  | { readonly is: 'lost'; readonly why: string; readonly malformed?: boolean }

interface WatchOptions {
  readonly store: Store
  readonly project: Project
  readonly clock: Clock
  readonly silenceMs: number
  /** Any event arrived: the connection works. */
  readonly onEvent: () => void
}

const CHANGES = new Set(['ADDED', 'MODIFIED', 'DELETED'])

export function readWatch(response: IncomingMessage, options: WatchOptions): Promise<WatchEnd> {
  return new Promise((resolve) => {
    const end = (how: WatchEnd) => {
      guard.cancel()
      response.removeAllListeners()
      // A late error of a connection that is no longer used is ignored.
      response.on('error', () => {})
      response.destroy()
      resolve(how)
    }
    const guard = watchSilence(options, () => end({ is: 'broken', why: 'silence' }))
    let ended = false
    const lines = createLines((line) => {
      if (ended) return
      const watchEnd = handleLine(line, options)
      if (!watchEnd) return
      ended = true
      end(watchEnd)
    })
    response.on('data', (chunk: Buffer) => {
      guard.reset()
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

/** Undefined: continue reading. */
function handleLine(line: Buffer, { store, project, onEvent }: WatchOptions): WatchEnd | undefined {
  // A string of its own: a slice keeps the whole string that it was cut from in memory.
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

function watchSilence({ clock, silenceMs }: WatchOptions, onSilence: () => void) {
  let lastActivity = clock.monotonic()
  let timer = clock.after(silenceMs, check)
  // Set again when it fires, not for each chunk: a busy watch would create thousands of timers.
  function check(): void {
    const left = lastActivity + silenceMs - clock.monotonic()
    if (left <= 0) onSilence()
    else timer = clock.after(left, check)
  }
  return {
    reset() {
      lastActivity = clock.monotonic()
    },
    cancel: () => timer.cancel(),
  }
}
