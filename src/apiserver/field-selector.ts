// Field selectors: `metadata.name=x,status.phase!=Running`, with `\,` `\=` and `\\` escaped. Which fields a kind can be
// selected by is the kind's business; every kind has metadata.name and, in a namespace, metadata.namespace.
import { ownValue } from '#lib'
import { type ApiObject, textAt } from './object.ts'
import { badRequest } from './status.ts'

interface FieldTerm {
  readonly field: string
  readonly equal: boolean
  readonly value: string
}

function parseFieldSelector(text: string): readonly FieldTerm[] {
  if (text.trim() === '') return []
  return splitEscaped(text).map((term) => {
    const match = /^((?:\\.|[^\\=!])+)(!=|==|=)((?:\\.|[^\\])*)$/.exec(term)
    if (!match) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`)
    return { field: match[1]!.trim(), equal: match[2] !== '!=', value: match[3]!.replace(/\\(.)/g, '$1') }
  })
}

type FieldReader = (object: ApiObject) => string

const METADATA_FIELDS: Readonly<Record<string, FieldReader>> = {
  'metadata.name': (object) => object.metadata.name,
  'metadata.namespace': (object) => object.metadata.namespace ?? '',
}

/** `selectable` are paths of this kind that may be selected by, as they stand in the served version. */
export function compileFieldSelector(
  text: string,
  selectable: readonly string[],
): { readonly name?: string; readonly test: ((object: ApiObject) => boolean) | undefined } {
  const terms = parseFieldSelector(text)
  if (terms.length === 0) return { test: undefined }
  const tests = terms.map(({ field, equal, value }) => {
    const read = ownValue(METADATA_FIELDS, field) ?? (selectable.includes(field) ? readPath(field) : undefined)
    if (!read) throw badRequest(unknownField(field, selectable))
    return (object: ApiObject) => (read(object) === value) === equal
  })
  const named = terms.find((term) => term.field === 'metadata.name' && term.equal)
  return {
    ...(named ? { name: named.value } : {}),
    test: (object) => tests.every((test) => test(object)),
  }
}

/** Kinds that can be selected by metadata alone say what there is. */
function unknownField(field: string, selectable: readonly string[]): string {
  if (selectable.length > 0) return `field label not supported: ${field}`
  return `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`
}

function readPath(field: string): FieldReader {
  const path = field.split('.')
  return (object) => textAt(object, ...path)
}

function splitEscaped(text: string): string[] {
  const parts: string[] = []
  let start = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') i += 1
    else if (text[i] === ',') {
      parts.push(text.slice(start, i))
      start = i + 1
    }
  }
  return [...parts, text.slice(start)].filter((part) => part !== '')
}
