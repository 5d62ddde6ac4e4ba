// Reads a request body, bounded, and turns it into a value. JSON and YAML are read here; the wire format of Kubernetes'
// own clients is handed to protobuf.ts.
import type { IncomingMessage } from 'node:http'
import { isMap, isSeq, parseDocument } from 'yaml'
import { hasLongDigits, messageOf, narrowIntegers, parseJson } from '#lib'
import { MAX_BODY, MAX_YAML_BODY, shapeFault } from '../limits.ts'
import { badRequest, StatusError } from '../status.ts'
import { duplicateFields } from './duplicates.ts'
import { decodeProtobuf } from './protobuf.ts'

export interface Body {
  readonly value: unknown
  /** Paths of fields that stood twice. */
  readonly duplicates: readonly string[]
}

/**
 * A body that is too large is received to its end and dropped, so that every client gets to read why it was refused; the
 * time for that is bounded by the server's requestTimeout.
 */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= MAX_BODY) chunks.push(chunk)
    else chunks.length = 0
  }
  if (size > MAX_BODY) throw tooLarge(MAX_BODY)
  return Buffer.concat(chunks)
}

function tooLarge(limit: number): StatusError {
  return new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${limit}`)
}

export function mediaTypeOf(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? 'application/json').split(';')[0]!.trim().toLowerCase()
}

export function parseBody(bytes: Buffer, mediaType: string): Body {
  const body = decodeBody(bytes, mediaType)
  const why = shapeFault(body.value)
  if (why !== undefined) throw badRequest(`error decoding the request body: ${why}`)
  return { value: body.value, duplicates: body.duplicates() }
}

interface Decoded {
  readonly value: unknown
  /** Asked for only when the value is known to be of a bounded depth. */
  duplicates(): readonly string[]
}

function decodeBody(bytes: Buffer, mediaType: string): Decoded {
  if (mediaType === 'application/vnd.kubernetes.protobuf') return { value: decodeProtobuf(bytes), duplicates: () => [] }
  const text = bytes.toString('utf8')
  const isYaml = mediaType === 'application/yaml' || mediaType.endsWith('+yaml')
  // JSON is YAML too, and most of what is applied comes as JSON: reading it as what it is takes a tenth of the time.
  if (isYaml && !text.trimStart().startsWith('{')) return parseYaml(text)
  try {
    return { value: parseJson(text), duplicates: () => duplicateFields(text) }
  } catch (error) {
    if (isYaml) return parseYaml(text)
    throw badRequest(`error decoding the request body as JSON: ${messageOf(error)}`)
  }
}

function parseYaml(text: string): Decoded {
  if (text.length > MAX_YAML_BODY) throw tooLarge(MAX_YAML_BODY)
  try {
    const intAsBigInt = hasLongDigits(text)
    const document = parseDocument(text, { uniqueKeys: false, version: '1.1', merge: true, intAsBigInt })
    const [fault] = document.errors
    if (fault) throw fault
    const read: unknown = document.toJS({ maxAliasCount: 100 })
    const value = intAsBigInt ? narrowIntegers(read) : read
    return { value, duplicates: () => doubledKeys(document.contents, '') }
  } catch (error) {
    // Also the stack that a document of many levels exhausts.
    throw badRequest(`error decoding the request body as YAML: ${messageOf(error)}`)
  }
}

/** Paths of keys that stand twice in one mapping. */
function doubledKeys(node: unknown, path: string): string[] {
  if (isSeq(node)) return node.items.flatMap((item, i) => doubledKeys(item, `${path}[${i}]`))
  if (!isMap(node)) return []
  const seen = new Set<string>()
  return node.items.flatMap(({ key, value }) => {
    const name = path === '' ? `${key}` : `${path}.${key}`
    const isDoubled = seen.has(name)
    seen.add(name)
    return [...doubledKeys(value, name), ...(isDoubled ? [name] : [])]
  })
}
