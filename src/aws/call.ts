// One signed call to an AWS API: bounded in time and size, and every failure becomes an AwsError without secrets.
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { messageOf, redact } from '#lib'
import { addressOf, type Service } from './partition.ts'
import { AwsError, type AwsErrorReason, type AwsKeys } from './port.ts'
import { signRequest } from './signer.ts'
import { unescapeXml } from './xml.ts'

export interface Transport {
  /** Where the calls of a service go instead of AWS; signatures stay the same. */
  readonly endpointOf: (service: Service) => string | undefined
  readonly nowMs: () => number
  readonly timeoutMs: number
}

export interface Call {
  readonly service: Service
  readonly region: string
  readonly keys: AwsKeys
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Of a REST API; the others are posted to the root. */
  readonly rest?: {
    readonly method: 'GET' | 'POST' | 'DELETE'
    readonly path: string
    readonly query: Readonly<Record<string, string>>
  }
  /** For messages: `iam:GetRole`. */
  readonly action: string
}

const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/** The query protocol of STS, IAM and EC2; the answer is XML. */
export function queryCall(
  base: Pick<Call, 'service' | 'region' | 'keys'>,
  action: string,
  version: string,
  parameters: Readonly<Record<string, string | undefined>>,
): Call {
  const defined = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return {
    ...base,
    action: `${base.service}:${action}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
    body: new URLSearchParams([['Action', action], ['Version', version], ...defined]).toString(),
  }
}

export async function send(transport: Transport, call: Call): Promise<string> {
  const { host, signingRegion } = addressOf(call.service, call.region)
  const place = { keys: call.keys, service: call.service, region: signingRegion, nowMs: transport.nowMs() }
  const { method = 'POST', ...where } = call.rest ?? {}
  const headers = await signRequest({ method, ...where, host, headers: call.headers, body: call.body }, place)
  const { status, text, type } = await exchange(transport, host, headers, call)
  if (status >= 200 && status < 300) return text
  throw toError(call, status, text, type)
}

function exchange(
  { endpointOf, timeoutMs }: Transport,
  host: string,
  headers: Record<string, string>,
  call: Call,
): Promise<{ readonly status: number; readonly text: string; readonly type: string | undefined }> {
  const url = new URL(endpointOf(call.service) ?? `https://${host}/`)
  const { method = 'POST', path, query = {} } = call.rest ?? {}
  if (path !== undefined) url.pathname = path
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const start = url.protocol === 'http:' ? httpRequest : httpsRequest
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) =>
      reject(
        new AwsError('Unreachable', `${call.action} did not answer: ${redact(messageOf(error))}`, {
          hint: `check the network to ${url.host}`,
          cause: error,
        }),
      )
    const signal = AbortSignal.timeout(timeoutMs)
    const length = String(Buffer.byteLength(call.body))
    const request = start(url, { method, headers: { ...headers, 'content-length': length }, signal })
    request.on('error', fail)
    request.on('response', (answer) => {
      const type = answer.headers['x-amzn-errortype']
      readText(answer).then((text) => resolve({ status: answer.statusCode ?? 0, text, type: [type].flat()[0] }), fail)
    })
    request.end(call.body)
  })
}

async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_ANSWER_BYTES) throw new Error('the answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** REST APIs name the error in a header, the others in the body. */
function toError(call: Call, status: number, text: string, type: string | undefined): AwsError {
  const awsCode = type?.replace(/:.*$|^.*#/g, '') ?? codeOf(text) ?? `HTTP ${status}`
  // What EC2 appends is readable by an administrator alone, and half a page long.
  const message = redact((messageIn(text) ?? awsCode).replace(/\s*Encoded authorization failure message:.*$/s, ''))
  const reason = reasonFor(awsCode, status)
  return new AwsError(reason, `${call.action} was refused: ${awsCode}: ${message}`, {
    hint: hintFor(reason, call),
    awsCode,
  })
}

function reasonFor(code: string, status: number): AwsErrorReason {
  if (/Throttl|RequestLimitExceeded|TooManyRequests/.test(code) || status === 429) return 'Throttled'
  if (
    /InvalidClientTokenId|ExpiredToken|RequestExpired|SignatureDoesNotMatch|UnrecognizedClient|IncompleteSignature|AuthFailure/.test(
      code,
    )
  )
    return 'NoCredentials'
  if (/AccessDenied|Unauthorized|NotAuthorized/.test(code)) return 'AccessDenied'
  return status >= 500 ? 'Unreachable' : 'Refused'
}

function hintFor(reason: AwsErrorReason, call: Call): string {
  if (reason === 'AccessDenied') return `allow ${call.action} to the identity of this cluster`
  if (reason === 'NoCredentials') return 'check the keys or the role in spec.identity, and the clock of this machine'
  if (reason === 'Throttled') return 'it is tried again; ask AWS for a higher limit if this stays'
  return 'see the message of AWS'
}

/** The text of the first element of this name; AWS answers are flat enough for that. */
export function elementIn(xml: string, name: string): string | undefined {
  const match = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)
  return match?.[1] === undefined ? undefined : unescapeXml(match[1])
}

function codeOf(text: string): string | undefined {
  const json = jsonOf(text)
  if (typeof json?.['__type'] === 'string') return json['__type'].split('#').at(-1)
  return elementIn(text, 'Code')
}

function messageIn(text: string): string | undefined {
  const json = jsonOf(text)
  const message = json?.['message'] ?? json?.['Message']
  return typeof message === 'string' ? message : elementIn(text, 'Message')
}

function jsonOf(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}
