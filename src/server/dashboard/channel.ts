// One reader of the page as server-sent events. A slow reader gets newer states, not more of them: nothing is queued while
// its connection is full, and what changed meanwhile is sent once it has room again.
import type { ServerResponse } from 'node:http'
import type { Messages } from '#dashboard'
import type { Clock, Timer } from '#lib'

const HEARTBEAT_MS = 15_000

export interface Channel {
  /** Aborted when the reader is gone. */
  readonly closed: AbortSignal
  hasRoom(): boolean
  send<K extends keyof Messages>(name: K, data: Messages[K]): void
  onRoom(handler: () => void): void
  close(): void
}

export function openChannel(response: ServerResponse, clock: Clock): Channel {
  const closed = new AbortController()
  let heartbeat: Timer
  const beat = () => {
    if (!response.writableNeedDrain) response.write(':\n\n')
    heartbeat = clock.after(HEARTBEAT_MS, beat)
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' })
  response.on('close', () => {
    heartbeat.cancel()
    closed.abort()
  })
  beat()
  return {
    closed: closed.signal,
    hasRoom: () => !response.writableNeedDrain,
    send(name, data) {
      if (!closed.signal.aborted) response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
    },
    onRoom: (handler) => void response.on('drain', handler),
    close: () => response.end(),
  }
}

/** Calls `flush` at most once per interval, and only while the reader has room. */
export function createPacer(channel: Channel, clock: Clock, intervalMs: number, flush: () => void): () => void {
  let timer: Timer | undefined
  let isDue = false
  const run = () => {
    timer = undefined
    if (!isDue || channel.closed.aborted || !channel.hasRoom()) return
    isDue = false
    flush()
    timer = clock.after(intervalMs, run)
  }
  channel.onRoom(() => {
    if (timer === undefined) run()
  })
  channel.closed.addEventListener('abort', () => timer?.cancel(), { once: true })
  return () => {
    isDue = true
    timer ??= clock.after(0, run)
  }
}
