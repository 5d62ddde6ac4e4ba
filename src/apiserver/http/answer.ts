// What goes back over the wire: a status code, headers and a value, or a stream that writes by itself.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { toYaml } from '#api'

export interface Answer {
  readonly code: number
  readonly value: object | string
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
}

export const ok = (value: object, contentType?: string): Answer => ({
  code: 200,
  value,
  ...(contentType ? { contentType } : {}),
})

export function sendAnswer(response: ServerResponse, answer: Answer, warnings: readonly string[], yaml: boolean): void {
  const isText = typeof answer.value === 'string'
  const asYaml = yaml && !isText
  const body = isText ? (answer.value as string) : asYaml ? toYaml(answer.value) : JSON.stringify(answer.value)
  const type = isText ? 'text/plain; charset=utf-8' : asYaml ? 'application/yaml' : 'application/json'
  const headers: OutgoingHttpHeaders = {
    'content-type': answer.contentType ?? type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-cache, private',
    ...warningHeader(warnings),
    ...answer.headers,
  }
  response.writeHead(answer.code, headers)
  response.end(body)
}

export function warningHeader(warnings: readonly string[]): OutgoingHttpHeaders {
  if (warnings.length === 0) return {}
  // One header with several values; a comma separates them, and quotes keep commas inside a text apart.
  const texts = warnings.map((text) => `299 - "${text.replace(/["\\]/g, '\\$&').replace(/[^\x20-\x7e]/g, '?')}"`)
  return { warning: texts.join(', ') }
}
