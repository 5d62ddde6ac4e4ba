// Records events (events.k8s.io/v1). The same text about the same object is one Event with a series count; callers do
// not wait for it, nothing is thrown, and what cannot be written is counted.
import { type AnyObject, apiVersionOf, EventKind, type Key } from '#api'
import { type Clock, createPacker, type Packed, shortHash, systemClock, unpack } from '#lib'
import { type Events, isKubeError, type Objects } from '../port.ts'

export interface EventsOptions {
  /** reportingController, a qualified name: `capt.appthrust.com/manager`. */
  readonly controller: string
  /** reportingInstance: the pod's name. */
  readonly instance: string
  readonly clock?: Clock
  /** Different events about one object in a row; one more is allowed after each `refillSeconds`. */
  readonly burst?: number
  readonly refillSeconds?: number
  /** Repeats are counted here and written at most this often. */
  readonly seriesSeconds?: number
}

interface EventRecorder extends Events {
  readonly dropped: number
  /** Writes what is waiting, counts included. */
  flush(): Promise<void>
}

type EventInput = Parameters<Events['emit']>[1]

interface Series {
  readonly key: Key
  /** Usually needed once, and kept for repeats: there are thousands that differ little. */
  readonly event: Packed
  count: number
  /** When it happened last, which is before the count is written. */
  observedAtMs: number
  /** What the server knows. */
  written: number
  isScheduled: boolean
}

const MAX_NOTE_BYTES = 1024
const MAX_SERIES = 2_000
const MAX_WAITING = 500

export function createEvents(objects: Objects, options: EventsOptions): EventRecorder {
  const clock = options.clock ?? systemClock
  const series = new Map<string, Series>()
  const packer = createPacker()
  const allowances = createAllowances(clock, options.burst ?? 25, (options.refillSeconds ?? 60) * 1000)
  let queue: Promise<void> = Promise.resolve()
  let waiting = 0
  let dropped = 0

  function enqueue(entry: Series): void {
    if (waiting >= MAX_WAITING) {
      dropped++
      return
    }
    waiting++
    queue = queue
      .then(() => write(entry))
      .catch(() => {
        dropped++
      })
      .finally(() => {
        waiting--
      })
  }

  async function write(entry: Series): Promise<void> {
    if (entry.written >= entry.count) return
    const { count } = entry
    if (entry.written > 0) {
      if (await raise(entry, count)) {
        entry.written = count
        return
      }
      // Servers delete events after about an hour: then a new one is created.
      entry.count = 1
    }
    try {
      const event = { ...unpack<AnyObject>(entry.event), eventTime: toMicroTime(entry.observedAtMs) } as AnyObject
      await objects.create(EventKind, event)
      entry.written = 1
    } catch (error) {
      if (!isKubeError(error, 'AlreadyExists')) throw error
      // An earlier process wrote the same event; its count goes on.
      const written = await objects.get<AnyObject & { series?: { count?: number } }>(EventKind, entry.key)
      entry.count += written?.series?.count ?? 1
      await raise(entry, entry.count)
      entry.written = entry.count
    }
  }

  /** False when the server has forgotten the event. */
  async function raise({ key, observedAtMs }: Series, count: number): Promise<boolean> {
    try {
      const body = { series: { count, lastObservedTime: toMicroTime(observedAtMs) } }
      await objects.patch(EventKind, key, { type: 'merge', body })
      return true
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return false
      throw error
    }
  }

  function repeat(entry: Series): void {
    entry.count++
    entry.observedAtMs = clock.now()
    if (entry.isScheduled) return
    entry.isScheduled = true
    clock.after((options.seriesSeconds ?? 30) * 1000, () => {
      entry.isScheduled = false
      enqueue(entry)
    })
  }

  function begin(about: AnyObject, input: EventInput, name: string): void {
    if (!allowances.take(about.metadata.uid ?? name)) {
      dropped++
      return
    }
    const namespace = about.metadata.namespace ?? 'default'
    const entry: Series = {
      key: { namespace, name },
      event: packer.pack(toEvent(about, input, { namespace, name }, options)),
      count: 1,
      observedAtMs: clock.now(),
      written: 0,
      isScheduled: false,
    }
    series.set(name, entry)
    if (series.size > MAX_SERIES) for (const oldest of series.keys()) if (series.delete(oldest)) break
    enqueue(entry)
  }

  return {
    emit(about, input) {
      const name = eventName(about, input)
      const known = series.get(name)
      if (known) repeat(known)
      else begin(about, input, name)
    },
    get dropped() {
      return dropped
    },
    async flush() {
      for (const entry of series.values()) if (entry.written < entry.count) enqueue(entry)
      await queue
    },
  }
}

/** The same text about the same object has the same name. */
function eventName(about: AnyObject, { type, reason, message }: EventInput): string {
  const { uid = '', namespace = '', name } = about.metadata
  const hash = shortHash([about.kind, uid, namespace, name, type, reason, message].join('\n'), 12)
  return `${name.slice(0, 200).replace(/[-.]+$/, '')}.${hash}`
}

function toEvent(about: AnyObject, input: EventInput, key: Key, options: EventsOptions): AnyObject {
  const { name, namespace, uid, resourceVersion } = about.metadata
  return {
    apiVersion: apiVersionOf(EventKind),
    kind: EventKind.kind,
    metadata: key,
    reportingController: options.controller,
    reportingInstance: options.instance.slice(0, 128),
    regarding: { apiVersion: about.apiVersion, kind: about.kind, name, namespace, uid, resourceVersion },
    type: input.type,
    reason: input.reason.slice(0, 128),
    action: (input.action ?? input.reason).slice(0, 128),
    note: cut(input.message, MAX_NOTE_BYTES),
  } as AnyObject
}

/** At most so many bytes of UTF-8, never half a character. */
function cut(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length <= maxBytes) return text
  const limit = maxBytes - Buffer.byteLength('…')
  return `${new TextDecoder().decode(bytes.subarray(0, limit)).replace(/\uFFFD+$/, '')}…`
}

function toMicroTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('Z', '000Z')
}

function createAllowances(clock: Clock, burst: number, refillMs: number) {
  const held = new Map<string, { left: number; at: number }>()
  return {
    take(id: string): boolean {
      const now = clock.monotonic()
      const last = held.get(id) ?? { left: burst, at: now }
      const left = Math.min(burst, last.left + (now - last.at) / refillMs)
      held.delete(id)
      if (held.size >= MAX_SERIES) for (const oldest of held.keys()) if (held.delete(oldest)) break
      held.set(id, { left: left >= 1 ? left - 1 : left, at: now })
      return left >= 1
    },
  }
}
