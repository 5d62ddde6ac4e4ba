// One stream of events from the server for the view that is open. Reconnects with backoff; a stream that has been silent
// for too long counts as broken. While the page is hidden nothing is streamed.
import type { Messages } from '../messages.ts'
import { createEventParser } from '../model/sse.ts'

/** The server sends something at least every 15 seconds. */
const SILENCE_MS = 40_000
const RETRY_MS = [500, 1_000, 2_000, 4_000, 8_000] as const

type Handlers = { readonly [K in keyof Messages]: (data: Messages[K]) => void }

export interface StreamState {
  readonly is: 'connecting' | 'live' | 'broken' | 'refused'
  readonly message: string
}

class Refused extends Error {}

export function openStream(
  path: string,
  token: string,
  handlers: Handlers,
  onState: (state: StreamState) => void,
): () => void {
  const ended = new AbortController()
  let failures = 0

  async function readOnce(signal: AbortSignal, onAlive: () => void): Promise<void> {
    const response = await fetch(path, { headers: { authorization: `Bearer ${token}` }, signal, cache: 'no-store' })
    if (!response.ok || !response.body) {
      const answer = (await response.json().catch(() => ({}))) as { message?: string; hint?: string }
      const message = [answer.message ?? `HTTP ${response.status}`, answer.hint].filter(Boolean).join(' — ')
      throw response.status === 401 ? new Refused(message) : new Error(message)
    }
    const parse = createEventParser()
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) throw new Error('The server closed the connection')
      onAlive()
      for (const { name, data } of parse(value)) {
        const handle = handlers[name as keyof Handlers] as ((data: unknown) => void) | undefined
        handle?.(JSON.parse(data))
      }
    }
  }

  async function run(): Promise<void> {
    while (!ended.signal.aborted) {
      await untilVisible(ended.signal)
      const attempt = new AbortController()
      const stop = () => attempt.abort()
      ended.signal.addEventListener('abort', stop, { once: true })
      document.addEventListener('visibilitychange', stop, { once: true })
      let watchdog = setTimeout(stop, SILENCE_MS)
      try {
        await readOnce(attempt.signal, () => {
          clearTimeout(watchdog)
          watchdog = setTimeout(stop, SILENCE_MS)
          if (failures > 0 || !isLive) onState({ is: 'live', message: '' })
          isLive = true
          failures = 0
        })
      } catch (error) {
        isLive = false
        if (ended.signal.aborted) return
        if (error instanceof Refused) return onState({ is: 'refused', message: error.message })
        if (!document.hidden) onState({ is: 'broken', message: plainMessage(error) })
      } finally {
        clearTimeout(watchdog)
        document.removeEventListener('visibilitychange', stop)
      }
      if (!document.hidden) await delay(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]!, ended.signal)
    }
  }

  let isLive = false
  onState({ is: 'connecting', message: '' })
  void run()
  return () => ended.abort()
}

function plainMessage(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return /fetch|network|abort/i.test(text) ? 'capt does not answer' : text
}

const delay = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms * (0.8 + Math.random() * 0.4))
    const stop = () => {
      clearTimeout(timer)
      resolve()
    }
    signal.addEventListener('abort', stop, { once: true })
  })

function untilVisible(signal: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve()
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', () => resolve(), { once: true, signal })
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
