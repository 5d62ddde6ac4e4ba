// Who may use the page: the holder of the token, by a name of the server that it is known by. Pure.
import type { IncomingMessage } from 'node:http'
import { isOneOf } from '#lib'
import { isLoopback } from '../server-certificate.ts'

export interface Refusal {
  readonly status: number
  readonly message: string
}

interface Guarded {
  /** Those that are valid now. */
  tokens(): readonly string[]
  readonly port: number
  /** Listens on this machine alone, without TLS. */
  readonly isLocal: boolean
}

type Asked = Pick<IncomingMessage, 'headers' | 'method'>

/** A page of another site could reach a loopback address by a name of its own: only our names are answered. */
export function refuseHost({ headers }: Asked, { isLocal, port }: Guarded): Refusal | undefined {
  if (!isLocal) return undefined
  const host = headers.host ?? ''
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  const isOurs = isLoopback(name) && (host.endsWith(`:${port}`) || port === 80)
  return isOurs ? undefined : { status: 421, message: 'This server answers under its loopback address alone' }
}

/** The token travels in a header, never in a cookie: a browser does not send it on behalf of another site. */
export function refuseToken({ headers }: Asked, { tokens }: Guarded): Refusal | undefined {
  const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
  if (isOneOf(given, tokens())) return undefined
  return { status: 401, message: 'The token is missing or is not the one of this server' }
}

/** A write must come from the page itself, as JSON. */
export function refuseOrigin({ headers }: Asked, { isLocal }: Guarded): Refusal | undefined {
  const expected = `${isLocal ? 'http' : 'https'}://${headers.host ?? ''}`
  if (headers.origin !== expected) return { status: 403, message: 'The request comes from another site' }
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin')
    return { status: 403, message: 'The request comes from another site' }
  if (!/^application\/json\b/.test(headers['content-type'] ?? ''))
    return { status: 415, message: 'Send application/json' }
  return undefined
}
