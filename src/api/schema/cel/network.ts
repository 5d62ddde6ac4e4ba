// IP addresses, networks and URLs in CEL.

import { isIPv4, isIPv6 } from 'node:net'
import type { Environment } from '@marcbachmann/cel-js'
import { isRequestUri } from '../values/formats.ts'

class IpAddress {
  readonly text: string
  readonly bits: 32 | 128
  readonly value: bigint
  constructor(text: string, bits: 32 | 128, value: bigint) {
    this.text = text
    this.bits = bits
    this.value = value
  }
}

class Network {
  readonly ip: IpAddress
  readonly prefix: number
  constructor(ip: IpAddress, prefix: number) {
    this.ip = ip
    this.prefix = prefix
  }
}

function parseIp(text: string): IpAddress | undefined {
  if (isIPv4(text)) {
    const value = text.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n)
    return new IpAddress(text, 32, value)
  }
  if (!isIPv6(text) || text.includes('%') || text.includes('.')) return undefined
  const value = groupsOf(text).reduce((sum, group) => (sum << 16n) | BigInt(group), 0n)
  return new IpAddress(canonicalV6(value), 128, value)
}

function groupsOf(text: string): number[] {
  const [head = '', tail] = text.split('::')
  const numbers = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  if (tail === undefined) return numbers(head)
  const [left, right] = [numbers(head), numbers(tail)]
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right]
}

/** Lower case, the longest run of zeros (at least two groups) written as `::`. */
function canonicalV6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) => Number((value >> BigInt(16 * (7 - i))) & 0xffffn).toString(16))
  let best = { start: -1, length: 1 }
  for (let start = 0; start < 8; start++) {
    let length = 0
    while (start + length < 8 && groups[start + length] === '0') length++
    if (length > best.length) best = { start, length }
  }
  if (best.start < 0) return groups.join(':')
  return `${groups.slice(0, best.start).join(':')}::${groups.slice(best.start + best.length).join(':')}`
}

function parseNetwork(text: string): Network | undefined {
  const [address, prefix, ...rest] = text.split('/')
  const ip = parseIp(address!)
  if (!ip || rest.length > 0 || !/^(0|[1-9]\d{0,2})$/.test(prefix ?? '')) return undefined
  return Number(prefix) <= ip.bits ? new Network(ip, Number(prefix)) : undefined
}

function masked(ip: IpAddress, prefix: number): bigint {
  const shift = BigInt(ip.bits - prefix)
  return (ip.value >> shift) << shift
}

function containsIp(network: Network, ip: IpAddress): boolean {
  return ip.bits === network.ip.bits && masked(ip, network.prefix) === masked(network.ip, network.prefix)
}

function containsNetwork(outer: Network, inner: Network): boolean {
  return inner.prefix >= outer.prefix && containsIp(outer, inner.ip)
}

function within(ip: IpAddress, network: string): boolean {
  return containsIp(parseNetwork(network)!, ip)
}

function must<T>(value: T | undefined, message: string): T {
  if (value === undefined) throw new Error(message)
  return value
}

const ipOf = (text: string) =>
  must(parseIp(text), `IP Address ${JSON.stringify(text)} parse error during conversion from string`)
const networkOf = (text: string) =>
  must(parseNetwork(text), `network address parse error during conversion from string: ${text}`)

export function registerNetwork(env: Environment): void {
  const sync = { async: false }
  const add = (signature: string, handler: (...args: never[]) => unknown) =>
    void env.registerFunction(signature, handler as (...args: unknown[]) => unknown, sync)

  env.registerType('IpAddress', IpAddress)
  env.registerType('Network', Network)
  env.registerOperator(
    'IpAddress == IpAddress',
    (a: IpAddress, b: IpAddress) => a.bits === b.bits && a.value === b.value,
  )
  env.registerOperator(
    'Network == Network',
    (a: Network, b: Network) => a.prefix === b.prefix && a.ip.bits === b.ip.bits && a.ip.value === b.ip.value,
  )
  add('isIP(string): bool', (text: string) => parseIp(text) !== undefined)
  add('ip(string): IpAddress', ipOf)
  add('string(IpAddress): string', (ip: IpAddress) => ip.text)
  add('IpAddress.family(): int', (ip: IpAddress) => (ip.bits === 32 ? 4n : 6n))
  add('IpAddress.isUnspecified(): bool', (ip: IpAddress) => ip.value === 0n)
  add('IpAddress.isLoopback(): bool', (ip: IpAddress) => within(ip, '127.0.0.0/8') || within(ip, '::1/128'))
  add(
    'IpAddress.isLinkLocalMulticast(): bool',
    (ip: IpAddress) => within(ip, '224.0.0.0/24') || within(ip, 'ff02::/16'),
  )
  add(
    'IpAddress.isLinkLocalUnicast(): bool',
    (ip: IpAddress) => within(ip, '169.254.0.0/16') || within(ip, 'fe80::/10'),
  )
  add('IpAddress.isGlobalUnicast(): bool', isGlobalUnicast)

  add('isCIDR(string): bool', (text: string) => parseNetwork(text) !== undefined)
  add('cidr(string): Network', networkOf)
  add('string(Network): string', (network: Network) => `${network.ip.text}/${network.prefix}`)
  add('Network.containsIP(IpAddress): bool', containsIp)
  add('Network.containsIP(string): bool', (network: Network, text: string) => containsIp(network, ipOf(text)))
  add('Network.containsCIDR(Network): bool', containsNetwork)
  add('Network.containsCIDR(string): bool', (network: Network, text: string) =>
    containsNetwork(network, networkOf(text)),
  )
  add('Network.ip(): IpAddress', (network: Network) => network.ip)
  add('Network.prefixLength(): int', (network: Network) => BigInt(network.prefix))
  add('Network.masked(): Network', (network: Network) => {
    const value = masked(network.ip, network.prefix)
    const { bits } = network.ip
    return new Network(new IpAddress(bits === 32 ? v4Text(value) : canonicalV6(value), bits, value), network.prefix)
  })
  registerUrls(add)
}

function v4Text(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join('.')
}

function isGlobalUnicast(ip: IpAddress): boolean {
  if (ip.value === 0n || (ip.bits === 32 && ip.value === 0xffffffffn)) return false
  const special = ['127.0.0.0/8', '::1/128', '224.0.0.0/4', 'ff00::/8', '169.254.0.0/16', 'fe80::/10']
  return !special.some((network) => within(ip, network))
}

function registerUrls(add: (signature: string, handler: (...args: never[]) => unknown) => void): void {
  add('isURL(string): bool', isRequestUri)
  add('url(string): map', (text: string) => {
    if (!isRequestUri(text)) throw new Error(`URL parse error during conversion from string: ${text}`)
    return new Map([['url', text]])
  })
  const part = (name: string, type: string, read: (url: UrlParts) => unknown) =>
    add(`map.${name}(): ${type}`, (url: ReadonlyMap<string, string>) => read(splitUrl(url.get('url')!)))
  part('getScheme', 'string', (url) => url.scheme)
  part('getHost', 'string', (url) => url.host)
  part('getHostname', 'string', (url) => hostAndPort(url.host)[0])
  part('getPort', 'string', (url) => hostAndPort(url.host)[1])
  part('getEscapedPath', 'string', (url) => url.path.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]/gu, encodeURIComponent))
  part('getQuery', 'map<string, list<string>>', (url) => {
    const query = new Map<string, string[]>()
    for (const [key, value] of new URLSearchParams(url.query)) query.set(key, [...(query.get(key) ?? []), value])
    return query
  })
}

interface UrlParts {
  readonly scheme: string
  readonly host: string
  readonly path: string
  readonly query: string
}

function splitUrl(text: string): UrlParts {
  const match = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?/.exec(text)!
  const authority = match[2] ?? ''
  return {
    scheme: (match[1] ?? '').toLowerCase(),
    host: authority.slice(authority.lastIndexOf('@') + 1),
    path: match[3] ?? '',
    query: match[4] ?? '',
  }
}

function hostAndPort(host: string): [string, string] {
  const match = /^(\[.*\]|[^:]*)(?::(\d*))?$/.exec(host)!
  return [match[1]!.replace(/^\[|\]$/g, ''), match[2] ?? '']
}
