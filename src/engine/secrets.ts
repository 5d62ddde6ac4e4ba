// Keeps secret values out of everything people read. It knows the values of this run in every encoding that Terraform may
// print, and the shapes of others.
import { isPlainObject, parseJson, redact } from '#lib'

export type Redactor = (text: string) => string

const MASK = '…redacted…'
/** Shorter values would mask ordinary words; they are no secrets worth the name. */
const MIN_LENGTH = 4
/** An encoding of a short value may be part of an ordinary word as well. */
const MIN_ENCODED_LENGTH = 6

export function createRedactor(values: Iterable<string>): Redactor {
  const known = new Set<string>()
  for (const value of values) {
    const lines = value.split(/\r?\n/)
    for (const part of [value, value.trim(), ...lines, ...lines.map((line) => line.trim())]) {
      if (part.trim().length < MIN_LENGTH) continue
      known.add(part)
      for (const encoded of encodingsOf(part)) if (encoded.length >= MIN_ENCODED_LENGTH) known.add(encoded)
    }
  }
  const byStart = Map.groupBy(
    [...known].sort((a, b) => b.length - a.length),
    (value) => value.slice(0, MIN_LENGTH),
  )
  return (text) => redact(byStart.size === 0 ? text : mask(text, byStart))
}

/** One pass over the text, however many values there are: a key file of a thousand lines has as many. */
function mask(text: string, byStart: ReadonlyMap<string, readonly string[]>): string {
  let masked = ''
  let done = 0
  for (let at = 0; at + MIN_LENGTH <= text.length; ) {
    const found = byStart.get(text.slice(at, at + MIN_LENGTH))?.find((value) => text.startsWith(value, at))
    if (found === undefined) at++
    else {
      masked += text.slice(done, at) + MASK
      at += found.length
      done = at
    }
  }
  return masked + text.slice(done)
}

/** A value as it looks inside quotes, JSON, JSON inside quotes, base64 and addresses. */
function encodingsOf(value: string): readonly string[] {
  const quoted = inQuotes(value)
  const address = encodeURIComponent(value.toWellFormed())
  return [
    quoted,
    inQuotes(quoted),
    // HCL spells out where a template would begin.
    quoted.replace(/([$%])\{/g, '$1$1{'),
    // Go's JSON spells out what HTML would read.
    goEscaped(quoted),
    inQuotes(goEscaped(quoted)),
    address,
    address.replaceAll('%20', '+'),
    address.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    // As Go's url.QueryEscape does: these characters are escaped too.
    address.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`).replaceAll('%20', '+'),
    ...inBase64(value),
  ]
}

const inQuotes = (text: string): string => JSON.stringify(text).slice(1, -1)

const goEscaped = (text: string): string =>
  text.replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Alone, and as part of a longer text: there the value begins at one of three places, and its ends are mixed with others. */
function inBase64(value: string): readonly string[] {
  const bytes = Buffer.from(value)
  const texts = [0, 1, 2].map((offset) => {
    const skipped = (3 - offset) % 3
    const whole = Math.max(0, Math.floor((bytes.length - skipped) / 3) * 3)
    return bytes.subarray(skipped, skipped + whole).toString('base64')
  })
  return [bytes.toString('base64').replace(/=+$/, ''), ...texts].flatMap((text) => [
    text,
    text.replaceAll('+', '-').replaceAll('/', '_'),
  ])
}

/** Every string inside a value: lists and maps hold secrets too. */
export function stringsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number' || typeof value === 'bigint') return [String(value)]
  if (Array.isArray(value)) return value.flatMap(stringsIn)
  if (isPlainObject(value)) return Object.values(value).flatMap(stringsIn)
  return []
}

/** Strings in a variables file, HCL or JSON. */
export function stringsInVarFile(content: string): readonly string[] {
  try {
    return stringsIn(parseJson(content))
  } catch {
    const quoted = [...content.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((match) => unquote(match[1]!))
    const numbers = [...content.matchAll(/=\s*(-?[0-9][0-9.]*)\s*$/gm)].map((match) => match[1]!)
    return [...quoted, ...numbers]
  }
}

function unquote(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return text
  }
}
