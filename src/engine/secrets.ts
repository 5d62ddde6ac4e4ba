// Keeps secret values out of everything people read. It knows the values of this run, and the shapes of others.
import { isPlainObject, parseJson, redact } from '#lib'

export type Redactor = (text: string) => string

const MASK = '…redacted…'
/** Shorter values would mask ordinary words; they are no secrets worth the name. */
const MIN_LENGTH = 4

export function createRedactor(values: Iterable<string>): Redactor {
  const wanted = new Set<string>()
  for (const value of values) {
    for (const part of [value, value.trim(), ...value.split(/\r?\n/)]) {
      if (part.trim().length < MIN_LENGTH) continue
      wanted.add(part)
      // The same value as it looks inside JSON text, and inside a shell or HCL quotation.
      wanted.add(JSON.stringify(part).slice(1, -1))
    }
  }
  const longestFirst = [...wanted].sort((a, b) => b.length - a.length)
  return (text) => redact(longestFirst.reduce((masked, value) => masked.replaceAll(value, MASK), text))
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
    return [...content.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((match) => unquote(match[1]!))
  }
}

function unquote(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return text
  }
}
