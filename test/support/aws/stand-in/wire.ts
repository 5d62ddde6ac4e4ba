// Requests and replies of the stand-in as they go over the wire.
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { Fault, type Json, newId } from './call.ts'

/** A call by the name of its permission, such as `iam:CreateRole`. */
export interface AwsCall {
  readonly action: string
  readonly isWrite: boolean
  /** Path and body: two calls with the same one do the same. */
  readonly subject: string
}

/** An error of AWS, such as `{ code: 'AccessDenied', status: 403 }`. */
export interface Refusal {
  readonly code: string
  readonly status: number
}

export interface Asked {
  readonly method: string
  readonly path: readonly string[]
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  readonly region: string
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

export const withText = (reply: Reply, change: (text: string) => string): Reply => ({
  ...reply,
  headers: { ...reply.headers, 'content-length': undefined },
  body: Buffer.from(change(reply.body.toString())),
})

export function closeZones(xml: string, zones: readonly string[]): string {
  return xml.replace(/<item>[\s\S]*?<\/item>/g, (item) =>
    zones.some((zone) => item.includes(`<zoneName>${zone}<`))
      ? item.replace(/<optInStatus>[^<]*</, '<optInStatus>not-opted-in<')
      : item,
  )
}

export function callOf(
  service: string,
  { method, path, headers, body }: Pick<Asked, 'method' | 'path' | 'headers' | 'body'>,
): AwsCall {
  const target = String(headers['x-amz-target'] ?? '').split('.')[1]
  const action = target ?? new URLSearchParams(body.toString()).get('Action') ?? `${method} ${path.slice(2).join('/')}`
  return {
    action: `${service}:${action}`,
    isWrite: !/^(Get|List|Describe|GET )/.test(action),
    subject: `${path.join('/')} ${body.toString()}`,
  }
}

/** In the form of the service that was called. */
export function refusedAs({ code, status }: Refusal, { action }: AwsCall): Reply {
  const message = `${action} by a test`
  if (/^(iam|ec2|sts):/.test(action)) {
    const xml = `<ErrorResponse><Error><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`
    return { status, headers: { 'content-type': 'text/xml' }, body: Buffer.from(xml) }
  }
  return toReply({ __type: code, message }, status, { 'x-amzn-errortype': code })
}

export const toReply = (body: Json, status = 200, headers: Reply['headers'] = {}): Reply => ({
  status,
  headers: { 'content-type': 'application/json', 'x-amzn-requestid': newId(), ...headers },
  body: Buffer.from(JSON.stringify(body)),
})

export function sendError(outgoing: ServerResponse, error: unknown): void {
  const { status, headers, body } =
    error instanceof Fault
      ? toReply({ message: error.message, ...error.fields }, error.status, { 'x-amzn-errortype': error.code })
      : toReply({ message: String(error) }, 500, { 'x-amzn-errortype': 'ServerException' })
  outgoing.writeHead(status, withoutHops(headers, body)).end(body)
}

export function ask(
  to: string,
  method: string,
  path: string,
  headers: IncomingMessage['headers'],
  body: Buffer,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(to)
    // The host stays as the caller wrote it: moto puts it into URLs of queues and buckets.
    const { 'transfer-encoding': _, expect: __, ...kept } = headers
    const sent = { ...kept, 'content-length': String(body.length) }
    const outgoing = request({ hostname, port, method, path, headers: sent, agent: false }, (found) => {
      bytesOf(found).then(
        (bytes) => resolve({ status: found.statusCode!, headers: found.headers, body: bytes }),
        reject,
      )
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

export const withoutHops = (headers: Reply['headers'], body: Buffer): Record<string, string | string[]> => {
  const kept = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && !['connection', 'transfer-encoding', 'keep-alive'].includes(name),
  ) as [string, string | string[]][]
  const known = Object.fromEntries(kept)
  return known['content-length'] === undefined ? { ...known, 'content-length': String(body.length) } : known
}

export async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export function jsonOf(bytes: Buffer): Json {
  try {
    return bytes.length === 0 ? {} : (JSON.parse(bytes.toString()) as Json)
  } catch {
    throw new Fault('InvalidParameterException', 'The body is not JSON')
  }
}
