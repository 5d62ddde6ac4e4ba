// Posts to a webhook: bounded in time and size, never redirected, and not into private networks unless that is allowed.
import { lookup as lookUp } from 'node:dns'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { CaptError } from '#lib'
import type { Post } from './notifier.ts'

const TIMEOUT_MS = 10_000

/** Addresses that a tenant must not reach through the manager: this machine, private networks, metadata services. */
const PRIVATE = new BlockList()
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const)
  PRIVATE.addSubnet(net, prefix, 'ipv4')
for (const [net, prefix] of [
  ['::', 128],
  ['::1', 128],
  ['64:ff9b::', 96],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  PRIVATE.addSubnet(net, prefix, 'ipv6')

/** IPv4 addresses in IPv6 form count as what they are. */
export function isPrivateAddress(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  const plain = mapped ?? address
  return PRIVATE.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4')
}

const refuse = (message: string) =>
  new CaptError('CAPT_NOTIFICATION_REFUSED', message, { hint: 'correct the url in the Secret capt-notification' })

/** Checked where the connection is made, so that a name cannot change its address in between. */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookUp(hostname, { ...options, all: true }, (error, found) => {
    if (error) return callback(error, '')
    const all = found as unknown as { address: string; family: number }[]
    if (all.some(({ address }) => isPrivateAddress(address)))
      return callback(refuse('the sink is in a private network'), '')
    if (options.all) return callback(null, all)
    return callback(null, all[0]!.address, all[0]!.family)
  })
}

export const httpPost: Post = async ({ url, allowsPrivate }, { body, headers }, timeoutMs = TIMEOUT_MS) => {
  const { protocol, hostname } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  if (!allowsPrivate && isIP(host) !== 0 && isPrivateAddress(host)) throw refuse('the sink is in a private network')
  const request = protocol === 'https:' ? httpsRequest : httpRequest
  return await new Promise<number>((resolve, reject) => {
    const sent = request(
      url,
      {
        method: 'POST',
        headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
        signal: AbortSignal.timeout(timeoutMs),
        agent: false,
        ...(allowsPrivate ? {} : { lookup: publicLookup }),
      },
      (answer) => {
        // The answer is not read: a sink that sends without end costs nothing.
        answer.destroy()
        const status = answer.statusCode ?? 0
        if (status >= 300 && status < 400) reject(refuse(`the sink answers with a redirect (${status})`))
        else resolve(status)
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}
