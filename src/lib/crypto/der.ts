// The few DER forms an X.509 certificate is made of. Encoding only: nothing here reads DER.
const KEY_USAGE = { digitalSignature: 0, keyCertSign: 5, cRLSign: 6 } as const

function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), length(content.length), content])
}

function length(size: number): Buffer {
  if (size < 0x80) return Buffer.from([size])
  const bytes = size.toString(16).padStart(2, '0')
  const digits = Buffer.from(bytes.length % 2 ? `0${bytes}` : bytes, 'hex')
  return Buffer.concat([Buffer.from([0x80 | digits.length]), digits])
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(0x30, ...parts)
export const set = (...parts: readonly Uint8Array[]): Buffer => tagged(0x31, ...parts)
export const octets = (value: Uint8Array): Buffer => tagged(0x04, value)
export const utf8 = (text: string): Buffer => tagged(0x0c, Buffer.from(text, 'utf8'))
export const boolean = (value: boolean): Buffer => tagged(0x01, Buffer.from([value ? 0xff : 0]))
export const bits = (value: Uint8Array): Buffer => tagged(0x03, Buffer.from([0]), value)
/** Explicit tag around a constructed value. */
export const context = (number: number, value: Uint8Array): Buffer => tagged(0xa0 | number, value)
/** Implicit tag on a primitive value. */
export const contextPrimitive = (number: number, value: Uint8Array): Buffer => tagged(0x80 | number, value)

/** A small non-negative number, or the big-endian bytes of a positive one whose top bit is clear. */
export function integer(value: number | Uint8Array): Buffer {
  return tagged(0x02, typeof value === 'number' ? Buffer.from([value]) : value)
}

export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

function base128(arc: number): number[] {
  const digits = [arc & 0x7f]
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) digits.unshift((rest & 0x7f) | 0x80)
  return digits
}

/** Key usage as a bit string without trailing zero bits, which DER forbids for named bits. */
export function namedBits(...names: readonly (keyof typeof KEY_USAGE)[]): Buffer {
  let byte = 0
  for (const name of names) byte |= 0x80 >> KEY_USAGE[name]
  const unused = Math.clz32(byte & -byte) ^ 31
  return tagged(0x03, Buffer.from([unused, byte]))
}

/** UTCTime up to 2049, GeneralizedTime from then on, as RFC 5280 asks. */
export function time(epochMs: number): Buffer {
  const digits = new Date(epochMs).toISOString().slice(0, 19).replace(/[-:T]/g, '')
  const year = Number(digits.slice(0, 4))
  return year < 2050 ? tagged(0x17, Buffer.from(`${digits.slice(2)}Z`)) : tagged(0x18, Buffer.from(`${digits}Z`))
}
