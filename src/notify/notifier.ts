// Sends notices: each trouble once, retried with backoff, bounded in number and time. Controllers do not wait for it. A
// notice that cannot be delivered is an Event and a number, never an error of a controller.
import type { AnyObject } from '#api'
import type { Events } from '#kube'
import { type Clock, type Counter, isCaptError, type Metrics, noMetrics, shortHash, sleep } from '#lib'
import { type Notice, toNotice } from './notice.ts'
import { type Payload, toPayload } from './payload.ts'
import { createSinks, type Sink, type SinkOptions } from './sink.ts'

/** Answers with the status of the sink. */
export type Post = (sink: Sink, payload: Payload, timeoutMs?: number) => Promise<number>

interface Notifier {
  notify(about: AnyObject, event: Parameters<Events['emit']>[1]): void
  /** Resolves when nothing waits any more. */
  settled(): Promise<void>
  stop(): void
}

interface NotifierOptions extends SinkOptions {
  readonly post: Post
  /** Where an undelivered notice is reported. */
  readonly events: Events
  readonly metrics?: Metrics
}

/** One, five, 25 seconds and so on: about ten minutes in all. */
const BACKOFF_MS = [1_000, 5_000, 25_000, 120_000, 450_000]
/** The same trouble is sent again after this time. */
const REPEAT_MS = 6 * 3_600_000
const MAX_WAITING = 100
const MAX_TOPICS = 5_000

/** Every event goes where it went before, and those that count are sent as notices too. */
export function notifying(events: Events, notifier: Notifier): Events {
  return {
    emit(about, event) {
      events.emit(about, event)
      notifier.notify(about, event)
    },
  }
}

export function createNotifier(options: NotifierOptions): Notifier {
  const { clock, events, post, metrics = noMetrics } = options
  const sinkFor = createSinks(options)
  const results: Counter = metrics.counter({
    name: 'capt_notifications_total',
    about: 'Notices by type, and what became of them: sent, failed, dropped.',
    labels: ['type', 'result'],
  })
  const topics = createTopics(clock)
  const ending = new AbortController()
  const waiting = new Set<Promise<void>>()

  async function deliver(notice: Notice, id: string): Promise<void> {
    const sink = await sinkFor(notice.namespace)
    if (!sink) return
    const fault = 'fault' in sink ? sink.fault : await send(notice, id, sink)
    results.add({ type: notice.type, result: fault === undefined ? 'sent' : 'failed' })
    if (fault !== undefined) report(notice, fault)
  }

  /** Undefined when the sink took it, else why not. */
  async function send(notice: Notice, id: string, sink: Sink): Promise<string | undefined> {
    for (let attempt = 0; ; attempt += 1) {
      const answer = await post(sink, toPayload(notice, id, clock.now(), sink.signingKey)).catch(faultOf)
      if (typeof answer === 'number' && answer >= 200 && answer < 300) return undefined
      const fault = typeof answer === 'number' ? `the sink answers ${answer}` : answer.message
      const isFinal = typeof answer === 'number' ? isRefusal(answer) : answer.isFinal
      const delay = BACKOFF_MS[attempt]
      if (isFinal || delay === undefined) return fault
      await sleep(clock, delay, ending.signal)
    }
  }

  function report({ object, namespace, type }: Notice, fault: string): void {
    const { uid, ...reference } = object
    const about: AnyObject = { ...reference, metadata: { name: object.name, namespace, uid } }
    const message = `The notice ${type} was not delivered: ${fault}`
    events.emit(about, { type: 'Warning', reason: 'NotificationFailed', message, action: 'Notify' })
  }

  return {
    notify(about, event) {
      const notice = toNotice(about, event, () => topics.hasFailed(about.metadata.uid ?? ''))
      if (!notice || !topics.begin(notice)) return
      if (waiting.size >= MAX_WAITING) return results.add({ type: notice.type, result: 'dropped' })
      const id = shortHash(`${notice.object.uid} ${notice.topic} ${clock.now()}`)
      const work = deliver(notice, id)
        .catch(() => results.add({ type: notice.type, result: 'failed' }))
        .finally(() => waiting.delete(work))
      waiting.add(work)
    },
    settled: async () => void (await Promise.all(waiting)),
    stop: () => ending.abort(),
  }
}

/** What another try would not change. */
const isRefusal = (status: number): boolean => status >= 400 && status < 500 && status !== 408 && status !== 429

/** Without the address: it is a secret. */
function faultOf(error: unknown): { readonly message: string; readonly isFinal: boolean } {
  if (isCaptError(error)) return { message: error.message, isFinal: true }
  const { name, code } = error as { readonly name?: string; readonly code?: string }
  const isLate = name === 'AbortError' || name === 'TimeoutError'
  return {
    message: isLate ? 'the sink does not answer' : `the sink cannot be reached (${code ?? 'no connection'})`,
    isFinal: false,
  }
}

/** Which troubles were sent and are not over. Lost with the process: then events, which are emitted once, decide alone. */
function createTopics(clock: Clock) {
  const sent = new Map<string, number>()
  return {
    /** A stage or a run of this object failed, and has not recovered. */
    hasFailed: (uid: string): boolean =>
      [...sent.keys()].some((key) => ['StageFailed', 'RunFailed'].some((type) => key.startsWith(`${uid} ${type} `))),
    /** False when it was sent already. */
    begin({ object, topic, type }: Notice): boolean {
      const prefix = `${object.uid} `
      if (type === 'Recovered') {
        for (const key of sent.keys()) if (key.startsWith(prefix)) sent.delete(key)
        return true
      }
      const key = `${prefix}${topic}`
      const at = sent.get(key)
      if (at !== undefined && clock.now() - at < REPEAT_MS) return false
      if (sent.size >= MAX_TOPICS) sent.delete(sent.keys().next().value!)
      sent.set(key, clock.now())
      return true
    },
  }
}
