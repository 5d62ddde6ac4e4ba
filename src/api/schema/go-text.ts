// Writes values the way kube-apiserver (a Go program) prints them inside its messages.
import type { Json } from '#lib'

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
}
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u

/** A double-quoted Go string. */
export function quote(text: string): string {
  let out = '"'
  for (const char of text) out += SHORT_ESCAPES[char] ?? (PRINTABLE.test(char) ? char : escapeCodePoint(char))
  return `${out}"`
}

function escapeCodePoint(char: string): string {
  const code = char.codePointAt(0)!
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, '0')}`
  if (code >= 0xd800 && code <= 0xdfff) return '\\ufffd'
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** Whether the server would hold this JSON number as an integer. */
export function isServerInteger(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < 2 ** 63
}

/** Integers in full; fractions in the shortest form, with an exponent below 1e-4 and from 1e6 on. */
export function formatNumber(value: number | bigint): string {
  if (typeof value === 'bigint') return value.toString()
  if (isServerInteger(value)) return BigInt(value).toString()
  const [mantissa, exponent] = value.toExponential().split('e') as [string, string]
  if (Number(exponent) >= -4 && Number(exponent) < 6) return String(value)
  return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`
}

/** The offending value as it stands in `Invalid value: …`. */
export function badValue(value: Json): string {
  if (value === null) return '"null"'
  if (typeof value === 'string') return quote(value)
  return goSyntax(value)
}

function goSyntax(value: Json): string {
  if (value === null) return 'interface {}(nil)'
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'number' || typeof value === 'bigint') return formatNumber(value)
  if (typeof value === 'boolean') return String(value)
  if (Array.isArray(value)) return `[]interface {}{${value.map((item: Json) => goSyntax(item)).join(', ')}}`
  const entries = Object.entries(value as { readonly [key: string]: Json }).sort(([a], [b]) => (a < b ? -1 : 1))
  return `map[string]interface {}{${entries.map(([key, item]) => `${quote(key)}:${goSyntax(item)}`).join(', ')}}`
}
