// Reads Kubernetes manifests from text: YAML or JSON, many documents, Lists unwrapped. Anything that is not a manifest is
// refused with its place, because a converter that guesses writes files nobody asked for.
import { type Document, LineCounter, parseAllDocuments } from 'yaml'
import { CaptError, isPlainObject, messageOf } from '#lib'

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  /** File and line, for messages. */
  readonly at: string
  readonly body: Readonly<Record<string, unknown>>
}

export interface Source {
  readonly name: string
  readonly text: string
}

/** Aliases beyond this are an attack on memory, not a manifest. */
const MAX_ALIASES = 100

export function readManifests(source: Source): Manifest[] {
  const lines = new LineCounter()
  const documents = parseAllDocuments(source.text, { lineCounter: lines })
  if (!Array.isArray(documents)) return []
  return documents.flatMap((document) => {
    const at = `${source.name}, line ${lines.linePos(document.contents?.range?.[0] ?? document.range?.[0] ?? 0).line}`
    const [fault] = document.errors
    if (fault) throw invalid(fault.message.split('\n')[0]!, `${source.name}, line ${lines.linePos(fault.pos[0]).line}`)
    const value = toValue(document, at)
    return value === null || value === undefined ? [] : unwrap(value, at)
  })
}

function toValue(document: Document.Parsed, at: string): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES })
  } catch (error) {
    throw invalid(messageOf(error), at)
  }
}

function unwrap(value: unknown, at: string): Manifest[] {
  if (!isPlainObject(value)) throw invalid('this document is not a manifest', at)
  const { apiVersion, kind, metadata, items } = value
  if (typeof apiVersion !== 'string' || typeof kind !== 'string')
    throw invalid('this document has no apiVersion and kind', at)
  if (kind.endsWith('List') && Array.isArray(items)) return items.flatMap((item) => unwrap(item, at))
  const name = isPlainObject(metadata) ? metadata['name'] : undefined
  if (typeof name !== 'string' || name === '') throw invalid(`this ${kind} has no metadata.name`, at)
  return [{ apiVersion, kind, name, at, body: value }]
}

const invalid = (message: string, at: string) =>
  new CaptError('CAPT_MANIFEST_INVALID', message, {
    at,
    hint: 'give Kubernetes manifests: every document needs apiVersion, kind and metadata.name',
  })
