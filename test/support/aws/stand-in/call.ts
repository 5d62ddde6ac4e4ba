// What the handlers of the stand-in share: a call of the EKS API, its answer, AWS's errors, and pages of a list.
import { randomUUID } from 'node:crypto'
import type { ClusterState } from './cluster-state.ts'

export type Json = Readonly<Record<string, unknown>>

/** A call about one cluster that exists. */
export interface ClusterCall {
  readonly cluster: ClusterState
  /** Values of the placeholders in the path of the route, decoded. */
  readonly at: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly body: Json
}

export interface Route {
  readonly method: string
  /** Segments of the path; one that begins with a colon stands for any value. */
  readonly path: string
  readonly answer: (call: ClusterCall) => Json | undefined
}

/** An error as the REST API of EKS writes it: the code is in a header, the fields in the body. */
export class Fault extends Error {
  readonly code: string
  readonly status: number
  readonly fields: Json
  constructor(code: keyof typeof STATUS, message: string, fields: Json = {}) {
    super(message)
    this.code = code
    this.status = STATUS[code]
    this.fields = fields
  }
}

const STATUS = {
  BadRequestException: 400,
  InvalidParameterException: 400,
  InvalidRequestException: 400,
  NotFoundException: 404,
  ResourceInUseException: 409,
  ResourceNotFoundException: 404,
} as const

/** The values of a path that matches a route. */
export function matchPath(route: string, path: readonly string[]): Readonly<Record<string, string>> | undefined {
  const segments = route.split('/').slice(1)
  if (segments.length !== path.length) return undefined
  const at: Record<string, string> = {}
  for (const [i, segment] of segments.entries())
    if (segment.startsWith(':')) at[segment.slice(1)] = path[i]!
    else if (segment !== path[i]) return undefined
  return at
}

/** One page of a list. The token names the place to continue at, and is opaque to clients. */
export function pageOf<T>(all: readonly T[], query: URLSearchParams): { page: readonly T[]; nextToken?: string } {
  const size = Number(query.get('maxResults') ?? 100)
  if (!Number.isInteger(size) || size < 1 || size > 100)
    throw new Fault('InvalidParameterException', 'maxResults must be between 1 and 100')
  const token = query.get('nextToken')
  const start = token ? Number(Buffer.from(token, 'base64url').toString().replace(/^at-/, '')) : 0
  if (!Number.isInteger(start) || start < 0 || start > all.length)
    throw new Fault('InvalidParameterException', 'The nextToken is invalid')
  const end = start + size
  const page = all.slice(start, end)
  return end < all.length ? { page, nextToken: Buffer.from(`at-${end}`).toString('base64url') } : { page }
}

/** A list without its token on the last page. */
export const listAnswer = <T>(name: string, all: readonly T[], query: URLSearchParams): Json => {
  const { page, nextToken } = pageOf(all, query)
  return { [name]: page, ...(nextToken === undefined ? {} : { nextToken }) }
}

export function textOf(body: Json, field: string): string {
  const value = body[field]
  if (typeof value !== 'string' || value === '') throw new Fault('InvalidParameterException', `${field} is required`)
  return value
}

export const tagsOf = ({ tags }: Json): Record<string, string> => ({ ...(tags as Record<string, string> | undefined) })

/** Seconds since 1970, as EKS writes a time. */
export const now = (): number => Date.now() / 1000

export const newId = (): string => randomUUID()
