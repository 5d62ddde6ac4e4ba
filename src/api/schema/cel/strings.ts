// String functions of Kubernetes' CEL that the package lacks, and RE2 for its regular expressions.
import type { Environment } from '@marcbachmann/cel-js'
import { RE2JS } from 're2js'
import { quote } from '../go-text.ts'

const compiled = new Map<string, RE2JS>()

function regex(pattern: string): RE2JS {
  let known = compiled.get(pattern)
  if (!known) {
    known = RE2JS.compile(pattern)
    compiled.set(pattern, known)
  }
  return known
}

function findAll(text: string, pattern: string, limit: number): string[] {
  const matcher = regex(pattern).matcher(text)
  const found: string[] = []
  while (found.length !== limit && matcher.find()) found.push(matcher.group() ?? '')
  return found
}

const lower = (text: string) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase())
const upper = (text: string) => text.replace(/[a-z]+/g, (part) => part.toUpperCase())

function replaceFirst(text: string, from: string, to: string, times: number): string {
  let [out, rest] = ['', text]
  for (let i = 0; i !== times; i++) {
    const at = rest.indexOf(from)
    if (at < 0 || (from === '' && rest === '')) break
    out += rest.slice(0, at) + to + (from === '' ? rest.slice(0, 1) : '')
    rest = rest.slice(at + Math.max(from.length, 1))
  }
  return out + rest
}

class StringsNamespace {}

export function registerStrings(env: Environment): void {
  const sync = { async: false }
  const add = (signature: string, handler: (...args: never[]) => unknown) =>
    void env.registerFunction(signature, handler as (...args: unknown[]) => unknown, sync)

  const matches = (text: string, pattern: string) => regex(pattern).matcher(text).find()
  add('string.matchesRe2(string): bool', matches)
  add('matches(string, string): bool', matches)
  add('string.find(string): string', (text: string, pattern: string) => findAll(text, pattern, 1)[0] ?? '')
  add('string.findAll(string): list<string>', (text: string, pattern: string) => findAll(text, pattern, -1))
  add('string.findAll(string, int): list<string>', (text: string, pattern: string, limit: bigint) =>
    findAll(text, pattern, Number(limit)),
  )
  add('string.lowerAsciiOnly(): string', lower)
  add('string.upperAsciiOnly(): string', upper)
  add('string.replace(string, string): string', (text: string, from: string, to: string) =>
    text.replaceAll(from, () => to),
  )
  add('string.replace(string, string, int): string', (text: string, from: string, to: string, times: bigint) =>
    times < 0n ? text.replaceAll(from, () => to) : replaceFirst(text, from, to, Number(times)),
  )
  add('string.charAt(int): string', (text: string, index: bigint) => {
    const chars = [...text]
    if (index < 0n || index > BigInt(chars.length)) throw new Error(`index out of range: ${index}`)
    return chars[Number(index)] ?? ''
  })
  add('string.reverse(): string', (text: string) => [...text].reverse().join(''))
  add('string.format(list): string', (template: string, values: readonly unknown[]) => format(template, values))

  env.registerType('StringsNamespace', StringsNamespace)
  env.registerConstant('strings', 'StringsNamespace', new StringsNamespace())
  add('StringsNamespace.quote(string): string', (_namespace: unknown, text: string) => quote(text))
}

function format(template: string, values: readonly unknown[]): string {
  let next = 0
  const take = () => {
    if (next >= values.length) throw new Error(`index ${next} out of range`)
    return values[next++]
  }
  const out = template.replace(
    /%(%|(?:\.(\d+))?([sdfebxXo]))/g,
    (_all, body: string, digits?: string, verb?: string) => {
      if (body === '%') return '%'
      return formatOne(verb!, take(), digits === undefined ? 6 : Number(digits))
    },
  )
  return out
}

function formatOne(verb: string, value: unknown, digits: number): string {
  switch (verb) {
    case 'd':
      return String(value)
    case 'f':
      return Number(value).toFixed(digits)
    case 'e':
      return Number(value)
        .toExponential(digits)
        .replace(/e([+-])(\d)$/, 'e$10$2')
    case 'b':
      return typeof value === 'boolean' ? (value ? '1' : '0') : (value as bigint).toString(2)
    case 'o':
      return (value as bigint).toString(8)
    case 'x':
    case 'X': {
      const hex =
        typeof value === 'bigint' ? value.toString(16) : Buffer.from(value as string | Uint8Array).toString('hex')
      return verb === 'X' ? hex.toUpperCase() : hex
    }
    default:
      return show(value)
  }
}

/** `%s` of any value. */
function show(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return value
  if (value instanceof Date)
    return value
      .toISOString()
      .replace(/\.?0*Z$/, 'Z')
      .replace(/(:\d\d)Z$/, '$1Z')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`
  if (value instanceof Map) return `{${[...value].map(([key, item]) => `${show(key)}: ${show(item)}`).join(', ')}}`
  return String(value)
}
