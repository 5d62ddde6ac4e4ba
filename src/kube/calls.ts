// One call to an API server: sends it, waits when the server asks for patience, and answers with JSON or throws one
// KubeError. Shared by every verb of the client.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { KindRef } from '#api'
import { type Clock, isPlainObject, systemClock } from '#lib'
import type { ServerAccess } from './access.ts'
import { type Asked, badAnswer, isHtml, toKubeError } from './answers.ts'
import { pause } from './patience.ts'
import type { KubeError } from './port.ts'
import { type Answer, createTransport } from './transport.ts'

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'apply' | 'delete' | 'raw'

/** One exchange on the wire; `status` is 0 when no answer came. */
export interface Exchange {
  readonly verb: Verb
  readonly resource: string
  readonly status: number
}

export interface CallOptions {
  readonly clock?: Clock
  readonly userAgent?: string
  /** For one attempt. */
  readonly requestTimeoutMs?: number
  /** How often a request is sent at most while the server asks for patience. */
  readonly maxTries?: number
  /** A longer wish of the server is not waited for: the caller gets the error and decides. */
  readonly maxRetryAfterSeconds?: number
  readonly onRequest?: (exchange: Exchange) => void
}

export interface Call {
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
  readonly maxTries?: number | undefined
}

export interface Calls {
  json(call: Call): Promise<Readonly<Record<string, unknown>>>
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
      asked,
    }
  }

  async function json(call: Call) {
    const request = toRequest(call)
    const maxTries = call.maxTries ?? options.maxTries ?? 4
    for (let tries = 1; ; tries++) {
      const answer = await transport.send(request)
      if (answer.status < 300) return parseObject(answer, request.asked)
      const error = toError(answer, request.asked)
      const seconds = patienceFor(error, request.repeatable)
      if (seconds === undefined || seconds > (options.maxRetryAfterSeconds ?? 30) || tries >= maxTries) throw error
      await pause(clock, seconds * 1000, call.signal)
    }
  }

  async function stream(call: Call): Promise<IncomingMessage> {
    const request = toRequest(call)
    const response = await transport.open(request)
    if (response.statusCode === 200) return response
    const text = await firstBytes(response)
    throw toError({ status: response.statusCode ?? 0, headers: response.headers, text }, request.asked)
  }

  return { json, stream, raw: (call) => transport.send(toRequest(call)), close: () => transport.close() }
}

function toError(answer: { status: number; headers: IncomingHttpHeaders; text: string }, asked: Asked): KubeError {
  const { status, headers, text } = answer
  const contentType = headers['content-type'] ?? ''
  return toKubeError({ status, contentType, retryAfter: headers['retry-after'], text }, asked)
}

/** Seconds the server wants us to wait; undefined when waiting is not what it asks for. 429 was never carried out. */
function patienceFor(error: KubeError, repeatable: boolean): number | undefined {
  if (error.status === 429) return error.retryAfterSeconds ?? 1
  if (error.status === 503 && repeatable) return error.retryAfterSeconds
  return undefined
}

function parseObject(answer: Answer, asked: Asked): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(answer.text)
  } catch (cause) {
    const html = isHtml({ contentType: answer.headers['content-type'] ?? '', text: answer.text })
    const problem = html ? 'answered with an HTML page' : 'answered with truncated or malformed JSON'
    // The parser's message quotes the text, which may hold a secret.
    throw badAnswer(asked, problem, answer.status, cause instanceof SyntaxError ? undefined : cause)
  }
  if (isPlainObject(value) && typeof value['kind'] === 'string') return value
  throw badAnswer(asked, 'answered with JSON that is not a Kubernetes object', answer.status)
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
    // What came before the cut is enough to judge by the status.
  }
  return Buffer.concat(chunks).toString('utf8')
}
