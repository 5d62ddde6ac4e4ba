// Plain HTTPS requests to an API server: one call, one answer, nothing interpreted. For tests of the protocol itself.

import { Agent, request } from 'node:https'
import { parseJson } from '#lib'

export interface RawAnswer {
  readonly code: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Parsed JSON, or the text when it is none. */
  readonly body: Loose
}

/** JSON of any shape: tests look into it field by field and compare what they find. */
export interface Loose {
  readonly [field: string]: Loose | undefined
}

/** The items of a list, or of anything else that is an array. */
export function items(value: Loose | undefined): readonly Loose[] {
  const list: unknown = Array.isArray(value) ? value : value?.['items']
  if (!Array.isArray(list)) throw new Error(`not a list: ${JSON.stringify(value)}`)
  return list as readonly Loose[]
}

export interface RawOptions {
  readonly type?: string
  readonly accept?: string
  readonly token?: string
}

interface RawWatch {
  /** Everything received so far. */
  readonly events: { readonly type: string; readonly object: Loose }[]
  /** Resolves when that many events are there, or rejects after a minute. */
  until(count: number): Promise<void>
  /** Resolves when the server has closed the stream. */
  ended: Promise<void>
  pause(): void
  resume(): void
  close(): void
}

export interface RawApi {
  call(method: string, path: string, body?: unknown, options?: RawOptions): Promise<RawAnswer>
  watch(path: string, options?: RawOptions): Promise<RawWatch>
  close(): void
}

export const MERGE = 'application/merge-patch+json'
export const JSON_PATCH = 'application/json-patch+json'
export const STRATEGIC = 'application/strategic-merge-patch+json'
export const APPLY = 'application/apply-patch+yaml'
export const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'

export function rawApi(access: { readonly url: string; readonly token: string; readonly caPem: string }): RawApi {
  const agent = new Agent({ keepAlive: true, ca: access.caPem })
  const headersFor = (options: RawOptions, body?: string | Buffer) => ({
    authorization: `Bearer ${options.token ?? access.token}`,
    accept: options.accept ?? 'application/json',
    'user-agent': 'raw/1',
    ...(body === undefined
      ? {}
      : { 'content-type': options.type ?? 'application/json', 'content-length': Buffer.byteLength(body) }),
  })
  return {
    call(method, path, value, options = {}) {
      const body =
        value === undefined || typeof value === 'string' || Buffer.isBuffer(value)
          ? (value as string | Buffer | undefined)
          : JSON.stringify(value)
      return new Promise((resolve, reject) => {
        const sent = request(
          `${access.url}${path}`,
          { method, agent, headers: headersFor(options, body) },
          (answer) => {
            const chunks: Buffer[] = []
            answer.on('data', (chunk: Buffer) => chunks.push(chunk))
            answer.on('error', reject)
            answer.on('end', () =>
              resolve({
                code: answer.statusCode ?? 0,
                headers: answer.headers,
                body: parse(Buffer.concat(chunks).toString('utf8')),
              }),
            )
          },
        )
        sent.on('error', reject)
        sent.end(body)
      })
    },
    watch(path, options = {}) {
      return new Promise((resolve, reject) => {
        const sent = request(`${access.url}${path}`, { agent, headers: headersFor(options) }, (answer) => {
          const events: RawWatch['events'] = []
          let rest = ''
          let check = () => {}
          answer.on('data', (chunk: Buffer) => {
            const lines = (rest + chunk.toString('utf8')).split('\n')
            rest = lines.pop() ?? ''
            for (const line of lines) events.push(parseJson(line) as RawWatch['events'][number])
            check()
          })
          answer.on('error', () => {})
          resolve({
            events,
            until: (count) =>
              new Promise((done, fail) => {
                const timer = setTimeout(() => fail(new Error(`${events.length} of ${count} events came`)), 60_000)
                check = () => {
                  if (events.length < count) return
                  clearTimeout(timer)
                  done()
                }
                check()
              }),
            ended: new Promise((done) => answer.on('close', () => done())),
            pause: () => void answer.pause(),
            resume: () => void answer.resume(),
            close: () => sent.destroy(),
          })
        })
        sent.on('error', reject)
        sent.end()
      })
    },
    close: () => agent.destroy(),
  }
}

function parse(text: string): Loose {
  try {
    return parseJson(text) as Loose
  } catch {
    return text as unknown as Loose
  }
}
