// Signed calls to one region of one account in the protocols of its services. Throttled calls are retried; a list is
// read to its last page.
import { type Clock, createBackoff, type JsonObject, pause } from '#lib'
import { type Call, queryCall, send, type Transport } from '../call.ts'
import { credentialSource } from '../credentials.ts'
import { type Environment, endpointOf } from '../endpoint.ts'
import { AwsError, type AwsIdentity, isAwsError } from '../port.ts'
import { nodesAt, parseXml, textAt, type XmlNode } from '../xml.ts'

type Parameters = Readonly<Record<string, string | undefined>>

export interface AwsRequests {
  readonly region: string
  /** IAM, EC2 and STS; the answer is the root of the XML. */
  query(service: 'iam' | 'ec2' | 'sts', action: string, parameters?: Parameters): Promise<XmlNode>
  json(service: 'ssm' | 'sqs' | 'events', action: string, body: object): Promise<JsonObject>
  /** EKS. `path` holds segments that are encoded here. */
  eks(
    action: string,
    method: 'GET' | 'POST' | 'DELETE',
    path: readonly string[],
    more?: RestOptions,
  ): Promise<JsonObject>
}

interface RestOptions {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
}

const VERSIONS = { iam: '2010-05-08', ec2: '2016-11-15', sts: '2011-06-15' } as const
const JSON_TARGETS = {
  ssm: { prefix: 'AmazonSSM', version: '1.1' },
  events: { prefix: 'AWSEvents', version: '1.1' },
  sqs: { prefix: 'AmazonSQS', version: '1.0' },
} as const
const ATTEMPTS = 8

interface RequestOptions {
  readonly clock: Clock
  readonly env: Environment
  readonly region: string
  readonly identity?: AwsIdentity
  readonly signal?: AbortSignal
}

/** Whose credentials come from the environment has no cluster whose identity could be mended. */
function forPerson(error: unknown, action: string): unknown {
  if (!isAwsError(error, 'AccessDenied', 'NoCredentials') || error.awsCode === undefined) return error
  const hint =
    error.reason === 'AccessDenied'
      ? `allow ${action} to the identity that aws sts get-caller-identity names`
      : 'renew your credentials, and check the clock of this machine'
  return new AwsError(error.reason, error.message, { hint, awsCode: error.awsCode, cause: error })
}

export function connectRequests({ clock, env, region, identity = {}, signal }: RequestOptions): AwsRequests {
  const transport: Transport = {
    endpointOf: (service) => endpointOf(env, service),
    nowMs: () => clock.now(),
    timeoutMs: 15_000,
  }
  const { keysFor } = credentialSource(transport)
  const isOwn = Object.keys(identity).length === 0

  async function ask(call: Omit<Call, 'region' | 'keys'>, isRead: boolean): Promise<string> {
    const backoff = createBackoff({ baseMs: 200, maxMs: 10_000, random: Math.random })
    for (;;) {
      try {
        return await send(transport, { ...call, region, keys: await keysFor(identity, region) })
      } catch (error) {
        // A write that was not answered may have been done: the next run observes it.
        const mayRetry = isAwsError(error, 'Throttled') || (isRead && isAwsError(error, 'Unreachable'))
        if (!mayRetry || backoff.failures + 1 >= ATTEMPTS) throw isOwn ? forPerson(error, call.action) : error
        await pause(clock, backoff.next(), signal)
      }
    }
  }

  return {
    region,
    async query(service, action, parameters = {}) {
      const {
        keys: _keys,
        region: _region,
        ...call
      } = queryCall(
        { service, region, keys: { accessKeyId: '', secretAccessKey: '' } },
        action,
        VERSIONS[service],
        parameters,
      )
      const text = await ask(call, /^(Get|List|Describe)/.test(action))
      try {
        return parseXml(text)
      } catch (cause) {
        throw unreadable(call.action, cause)
      }
    },
    async json(service, action, body) {
      const { prefix, version } = JSON_TARGETS[service]
      const headers = { 'content-type': `application/x-amz-json-${version}`, 'x-amz-target': `${prefix}.${action}` }
      const call = { service, action: `${service}:${action}`, headers, body: JSON.stringify(body) }
      return toJson(await ask(call, /^(Get|List|Describe)/.test(action)), call.action)
    },
    async eks(action, method, path, { query = {}, body } = {}) {
      const call = {
        service: 'eks' as const,
        action: `eks:${action}`,
        headers: { 'content-type': 'application/json' },
        body: body === undefined ? '' : JSON.stringify(body),
        rest: { method, path: `/${path.map(encodeURIComponent).join('/')}`, query },
      }
      return toJson(await ask(call, method === 'GET'), call.action)
    },
  }
}

function toJson(text: string, action: string): JsonObject {
  try {
    return text.trim() === '' ? {} : (JSON.parse(text) as JsonObject)
  } catch (cause) {
    throw unreadable(action, cause)
  }
}

const unreadable = (action: string, cause: unknown) =>
  new AwsError('Refused', `${action} gave an answer that cannot be read`, {
    hint: 'something between capt and AWS may have changed it; run the command again',
    cause,
  })

/** Undefined for an answer that says the thing does not exist. */
export async function unlessMissing<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

export const isMissing = (error: unknown): boolean =>
  isAwsError(error) &&
  /^(NoSuchEntity|ResourceNotFoundException|NotFoundException|ParameterNotFound|.*\.NotFound|.*NonExistentQueue|QueueDoesNotExist)/.test(
    error.awsCode ?? '',
  )

/** Every element of a list of EKS. */
export async function eksList(
  aws: AwsRequests,
  action: string,
  path: readonly string[],
  field: string,
): Promise<readonly unknown[]> {
  const read = (nextToken?: string) =>
    aws.eks(action, 'GET', path, { query: { maxResults: '100', ...(nextToken === undefined ? {} : { nextToken }) } })
  return allPages(read, (page) => ({
    items: (page[field] as readonly unknown[] | undefined) ?? [],
    next: typeof page['nextToken'] === 'string' ? page['nextToken'] : undefined,
  }))
}

/** Every element of a list of IAM, found below `<Action>Result` at `path`. */
export async function iamList(
  aws: AwsRequests,
  action: string,
  parameters: Parameters,
  ...path: readonly string[]
): Promise<readonly XmlNode[]> {
  const result = `${action}Result`
  const read = (Marker?: string) =>
    aws.query('iam', action, { ...parameters, ...(Marker === undefined ? {} : { Marker }) })
  return allPages(read, (page) => ({
    items: nodesAt(page, result, ...path),
    next: textAt(page, result, 'IsTruncated') === 'true' ? textAt(page, result, 'Marker') : undefined,
  }))
}

/** Every element of a list of EC2. `ids` and filters as EC2 numbers them. */
export async function ec2List(
  aws: AwsRequests,
  action: string,
  parameters: Parameters,
  ...path: readonly string[]
): Promise<readonly XmlNode[]> {
  const read = (NextToken?: string) =>
    aws.query('ec2', action, { ...parameters, ...(NextToken === undefined ? {} : { NextToken }) })
  return allPages(read, (page) => ({ items: nodesAt(page, ...path), next: textAt(page, 'nextToken') }))
}

/** Reads page after page. `next` is the token of the following page; the last one has none, or an empty one. */
async function allPages<P, T>(
  read: (token?: string) => Promise<P>,
  open: (page: P) => { readonly items: readonly T[]; readonly next: string | undefined },
): Promise<readonly T[]> {
  const all: T[] = []
  let token: string | undefined
  do {
    const { items, next } = open(await read(token))
    all.push(...items)
    token = next || undefined
  } while (token !== undefined)
  return all
}

export function tagsOf(tags: readonly XmlNode[], key = 'Key', value = 'Value'): Readonly<Record<string, string>> {
  return Object.fromEntries(tags.map((tag) => [textAt(tag, key) ?? '', textAt(tag, value) ?? '']))
}
