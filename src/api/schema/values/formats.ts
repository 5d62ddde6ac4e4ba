// The string formats that kube-apiserver checks. It ignores every other one, int32 and int64 among them.
import { isIPv6 } from 'node:net'

type Check = (text: string) => boolean

const HOSTNAME =
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u
const CREDIT_CARD =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}|6[27][0-9]{14})$/

const CHECKS: Readonly<Record<string, Check>> = {
  bsonobjectid: (text) => /^[0-9a-fA-F]{24}$/.test(text),
  uri: isRequestUri,
  email: isEmail,
  hostname: (text) => HOSTNAME.test(text) && bytes(text) <= 255 && text.split('.').every((label) => bytes(label) <= 63),
  ipv4: isIpv4Sloppy,
  ipv6: (text) => isIPv6(text) && !text.includes('%') && text.includes(':'),
  cidr: isCidrSloppy,
  mac: isMac,
  uuid: (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text),
  uuid3: (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text),
  uuid4: (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(text),
  uuid5: (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(text),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text),
  hexcolor: (text) => /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text),
  rgbcolor: (text) =>
    /^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$/.test(
      text,
    ),
  byte: (text) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/.test(text),
  password: () => true,
  date: isDate,
  duration: isDuration,
  datetime: isDateTime,
}

/** The check behind a format, or undefined when the server ignores that format. */
export function formatCheck(format: string | undefined): Check | undefined {
  if (format === undefined) return undefined
  const name = format.replaceAll('-', '')
  return Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined
}

function bytes(text: string): number {
  return Buffer.byteLength(text)
}

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (!match) return false
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number]
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

function isDateTime(text: string): boolean {
  const [date, time] = text.toLowerCase().split('t')
  if (time === undefined || !isDate(date!)) return false
  const match = /^(\d{2}):(\d{2}):(\d{2})(.\d+)?(z|([+-]\d{2}:\d{2}))$/.exec(time)
  return match !== null && match[1]! <= '23' && match[2]! <= '59' && match[3]! <= '59'
}

const GO_DURATION = /^[+-]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/
const UNITS: readonly (readonly [RegExp, bigint])[] = [
  [/^(ns|nano.*)$/, 1n],
  [/^(us|µs|μs|micro.*)$/, 1_000n],
  [/^(ms|milli.*)$/, 1_000_000n],
  [/^(s|sec.*)$/, 1_000_000_000n],
  [/^(m|min.*)$/, 60_000_000_000n],
  [/^(h|hr|hour.*)$/, 3_600_000_000_000n],
  [/^(d|day.*)$/, 86_400_000_000_000n],
  [/^(w|wk|week.*)$/, 604_800_000_000_000n],
]

function isDuration(text: string): boolean {
  return durationNanos(text) !== undefined
}

/** Nanoseconds of `1h30m` or `2 days`; undefined when it is no duration. */
export function durationNanos(text: string): bigint | undefined {
  const isStrict = GO_DURATION.test(text)
  const amount = isStrict ? /(\d+\.?\d*|\.\d+)([a-zµμ]+)/g : /(\d+)\s*([A-Za-zµ]+)/g
  let [total, isKnown] = [0n, isStrict]
  for (const [, number, word] of text.matchAll(amount)) {
    const unit = UNITS.find(([name]) => name.test(word!.toLowerCase()))?.[1]
    if (unit === undefined) continue
    const [whole = '', fraction = ''] = number!.split('.')
    total += BigInt(whole || '0') * unit
    if (fraction !== '') total += (BigInt(fraction.slice(0, 18)) * unit) / 10n ** BigInt(Math.min(fraction.length, 18))
    isKnown = true
  }
  return isKnown ? (text.startsWith('-') && isStrict ? -total : total) : undefined
}

function isIpv4Sloppy(text: string): boolean {
  const parts = text.split('.')
  if (parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255)) return true
  return text.includes('.') && isIPv6(text) && !text.includes('%')
}

function isCidrSloppy(text: string): boolean {
  const slash = text.indexOf('/')
  if (slash < 0) return false
  const [address, bits] = [text.slice(0, slash), text.slice(slash + 1)]
  if (!/^\d+$/.test(bits)) return false
  const isV4 = !address.includes(':') && isIpv4Sloppy(address)
  if (isV4) return Number(bits) <= 32
  return isIPv6(address) && !address.includes('%') && Number(bits) <= 128
}

function isMac(text: string): boolean {
  for (const separator of [':', '-']) {
    const parts = text.split(separator)
    if ([6, 8, 20].includes(parts.length) && parts.every((part) => /^[0-9a-fA-F]{2}$/.test(part))) return true
  }
  const parts = text.split('.')
  return [3, 4, 10].includes(parts.length) && parts.every((part) => /^[0-9a-fA-F]{4}$/.test(part))
}

/** An absolute URI or an absolute path, as HTTP requests carry it. */
export function isRequestUri(text: string): boolean {
  if (text === '' || /[\u0000-\u001f\u007f]/.test(text)) return false
  if (text === '*') return true
  const hasBadEscape = /%(?![0-9a-fA-F]{2})/.test(text.split('?')[0]!)
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(text)
  if (!scheme)
    return text.startsWith('/') && !hasBadEscape && (!text.startsWith('//') || isAuthority(authorityOf(text.slice(2))))
  const rest = text.slice(scheme[0].length)
  if (!rest.startsWith('/')) return true
  return !hasBadEscape && (!rest.startsWith('//') || isAuthority(authorityOf(rest.slice(2))))
}

function authorityOf(rest: string): string {
  return rest.split(/[/?]/)[0]!
}

function isAuthority(authority: string): boolean {
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  if (host.startsWith('[')) return /^\[[0-9a-fA-F:.%a-zA-Z_-]+\](:\d*)?$/.test(host)
  const colon = host.lastIndexOf(':')
  if (colon >= 0 && !/^\d*$/.test(host.slice(colon + 1))) return false
  return !/[ "<>\\^`{|}]/.test(host)
}

function isEmail(text: string): boolean {
  const inner = /<([^<>]+)>\s*$/.exec(text)
  const address = (inner ? inner[1]! : text).trim()
  return /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\uffff-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\uffff-]+)*@[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\uffff-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\uffff-]+)*$/.test(
    address,
  )
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, '')
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false
  const sum = [...digits].reduce((total, digit, i) => total + (10 - i) * (digit === 'X' ? 10 : Number(digit)), 0)
  return sum % 11 === 0
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, '')
  if (!/^[0-9]{13}$/.test(digits)) return false
  const sum = [...digits].reduce((total, digit, i) => total + Number(digit) * (i % 2 === 0 ? 1 : 3), 0)
  return sum % 10 === 0
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, '')
  if (!CREDIT_CARD.test(digits)) return false
  const sum = [...digits].reverse().reduce((total, char, i) => {
    const doubled = Number(char) * (i % 2 === 0 ? 1 : 2)
    return total + (doubled > 9 ? doubled - 9 : doubled)
  }, 0)
  return sum % 10 === 0
}
