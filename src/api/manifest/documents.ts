// Reads the documents of a YAML text: merge keys, 64-bit integers and a limit on aliases, the same for every reader.
import type { Document, LineCounter } from 'yaml'
import { hasLongDigits, narrowIntegers } from '#lib'
import { loadYaml } from '../schema/lazy.ts'

/** Aliases beyond this are an attack on memory, not a manifest. */
const MAX_ALIASES = 100

interface YamlDocument {
  /** Position in the text, from 1. */
  readonly number: number
  readonly contents: Document.Parsed['contents']
  /** The first syntax error. */
  readonly error: Document.Parsed['errors'][number] | undefined
  /** Undefined for an empty document. Throws beyond the limit on aliases. */
  value(): unknown
}

export function readDocuments(text: string, lineCounter?: LineCounter): readonly YamlDocument[] {
  const intAsBigInt = hasLongDigits(text)
  const prettyErrors = lineCounter === undefined
  const documents = loadYaml().parseAllDocuments(text, { lineCounter, merge: true, prettyErrors, intAsBigInt })
  if (!Array.isArray(documents)) return []
  return documents.map((document, i) => ({
    number: i + 1,
    contents: document.contents,
    error: document.errors[0],
    value() {
      const read: unknown = document.toJS({ maxAliasCount: MAX_ALIASES })
      return (intAsBigInt ? narrowIntegers(read) : read) ?? undefined
    },
  }))
}
