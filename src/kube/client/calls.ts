// One call to an API server: sends it, waits as long as Retry-After asks, and returns JSON or throws one KubeError. Shared
// by every verb of the client.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { KindRef } from '#api'
import { type Clock, isPlainObject, parseJson, pause, systemClock } from '#lib'
import type { KubeError } from '../port.ts'
import type { ServerAccess } from './access.ts'
import { type Asked, badAnswer, isHtml, toKubeError } from './answers.ts'
import { createListStream, type ListStream } from './list-stream.ts'
import { type Answer, createTransport, type Pool } from './transport.ts'

type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'apply' | 'delete' | 'raw'

/** One exchange on the wire; `status` is 0 when no answer came. */
interface Exchange {
  readonly verb: Verb
  readonly resource: string
  readonly status: number
}

export interface CallOptions {
  readonly clock?: Clock
  readonly userAgent?: string
  /** For one attempt. */
  readonly requestTimeoutMs?: number
  /** How often a request is sent at most while the server answers with Retry-After. */
  readonly maxTries?: number
  /** A longer Retry-After is not waited for: the caller gets the error. */
  readonly maxRetryAfterSeconds?: number
  readonly pool?: Pool
  readonly onRequest?: (exchange: Exchange) => void
}

interface Call {
  readonly verb: Verb
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | (string & {})
  readonly path: string
  /** For messages: `get ConfigMap default/settings`. */
  readonly what: string
  readonly kind?: KindRef
  readonly body?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** False when sending it twice is not the same as sending it once. */
  readonly repeatable?: boolean
  readonly permit?: (() => void) | undefined
}

interface Calls {
  json(call: Call): Promise<Readonly<Record<string, unknown>>>
  /** A list whose items are handed on while they arrive; answers with what is around them. */
  items(
    call: Call,
    onItem: (item: Readonly<Record<string, unknown>>) => void,
  ): Promise<Readonly<Record<string, unknown>>>
  /** Every status is an answer. */
  raw(call: Call): Promise<Answer>
  stream(call: Call): Promise<IncomingMessage>
  close(): void
}

export function createCalls(access: ServerAccess, options: CallOptions): Calls {
  const clock = options.clock ?? systemClock
  const callOf = new WeakMap<Asked, Call>()
  const transport = createTransport(access, {
    clock,
    userAgent: options.userAgent ?? 'capt',
    pool: options.pool,
    onExchange({ asked }, status) {
      const call = callOf.get(asked)
      if (call) options.onRequest?.({ verb: call.verb, resource: call.kind?.plural ?? '', status })
    },
  })

  function toRequest(call: Call) {
    const asked: Asked = { what: call.what, kind: call.kind, address: access.server, origin: access.origin }
    callOf.set(asked, call)
    return {
      method: call.method,
      path: call.path,
      body: call.body,
      headers: call.headers,
      signal: call.signal,
      timeoutMs: call.timeoutMs ?? options.requestTimeoutMs ?? 30_000,
      repeatable: call.repeatable ?? true,
      permit: call.permit,
      asked,
    }
  }

  async function json(call: Call) {
    const request = toRequest(call)
    const maxTries = options.maxTries ?? 4
    for (let tries = 1; ; tries++) {
      const answer = await transport.send(request)
      if (answer.status < 300) return typed(parseObject(answer, request.asked), request.asked)
      const error = toError(answer, request.asked)
      const seconds = retryDelayOf(error, request.repeatable)
      if (seconds === undefined || seconds > (options.maxRetryAfterSeconds ?? 30) || tries >= maxTries) throw error
      await pause(clock, seconds * 1000, call.signal)
    }
  }

  async function items(call: Call, onItem: (item: Readonly<Record<string, unknown>>) => void) {
    const request = toRequest(call)
    const list = createListStream((text) => onItem(parseObject({ text, status: 200, headers: {} }, request.asked)))
    let isList: boolean | undefined
    const answer = await transport.read(request, (chunk) => {
      isList ??= /^\s*\{/.test(chunk.toString('latin1', 0, 64))
      if (!isList) throw notJson(request.asked, chunk.toString('utf8', 0, 256), 200)
      list.push(chunk)
    })
    if (answer.status !== 200) throw toError(answer, request.asked)
    return typed(parseObject({ ...answer, text: endOf(list, request.asked) }, request.asked), request.asked)
  }

  async function stream(call: Call): Promise<IncomingMessage> {
    const request = toRequest(call)
    const response = await transport.open(request)
    if (response.statusCode === 200) return response
    const text = await firstBytes(response)
    throw toError({ status: response.statusCode ?? 0, headers: response.headers, text }, request.asked)
  }

  return { json, items, stream, raw: (call) => transport.send(toRequest(call)), close: () => transport.close() }
}

function toError(answer: { status: number; headers: IncomingHttpHeaders; text: string }, asked: Asked): KubeError {
  const { status, headers, text } = answer
  const contentType = headers['content-type'] ?? ''
  return toKubeError({ status, contentType, retryAfter: headers['retry-after'], text }, asked)
}

/** Seconds of Retry-After; undefined when the request is not to be repeated. A 429 was never executed. */
function retryDelayOf(error: KubeError, repeatable: boolean): number | undefined {
  if (error.reason === 'DisruptionBudget') return undefined
  if (error.status === 429) return error.retryAfterSeconds ?? 1
  if (error.status === 503 && repeatable) return error.retryAfterSeconds
  return undefined
}

function parseObject(answer: Answer, asked: Asked): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = parseJson(answer.text)
  } catch {
    throw notJson(asked, answer.text, answer.status, answer.headers['content-type'])
  }
  if (isPlainObject(value)) return value
  throw notAnObject(asked)
}

function typed<T extends Readonly<Record<string, unknown>>>(value: T, asked: Asked): T {
  if (typeof value['kind'] === 'string') return value
  throw notAnObject(asked)
}

function notAnObject(asked: Asked): KubeError {
  return badAnswer(asked, 'answered with JSON that is not a Kubernetes object')
}

// What the parser says about a text quotes the text, which may hold a secret: it is not kept as the cause.
function notJson(asked: Asked, text: string, status: number, contentType = ''): KubeError {
  const problem = isHtml({ contentType, text })
    ? 'answered with an HTML page'
    : 'answered with truncated or malformed JSON'
  return badAnswer(asked, problem, status)
}

function endOf(list: ListStream, asked: Asked): string {
  try {
    return list.end()
  } catch {
    throw notJson(asked, '', 200)
  }
}

const ENOUGH_BYTES = 64 * 1024

async function firstBytes(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response) {
      chunks.push(chunk as Buffer)
      size += (chunk as Buffer).length
      if (size > ENOUGH_BYTES) break
    }
  } catch {
    // The status is enough; a cut body is ignored.
  }
  return Buffer.concat(chunks).toString('utf8')
}
