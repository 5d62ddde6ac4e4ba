// Reads the values of a ConfigMap or Secret the way core's ClusterResourceSet controller does, its traps included:
// short values fail, a broken JSON list is no objects at all, sorting never crosses a key.
import { readDocuments, type UnknownObject } from '#api'
import { CaptError, isPlainObject, parseJson } from '#lib'

/** The sniffing of JSON lists reads this many bytes and fails when there are fewer. */
const PEEK_BYTES = 32

const FIRST = [
  'Namespace',
  'CustomResourceDefinition',
  'StorageClass',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'Secret',
  'ConfigMap',
  'ServiceAccount',
  'LimitRange',
  'Pod',
  'ReplicaSet',
  'Endpoint',
]

/** Objects of all keys, in the order in which they are applied. Throws what core would report. */
export function parseSource(values: Readonly<Record<string, string>>): readonly UnknownObject[] {
  const keys = Object.keys(values).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  return keys.flatMap((key) => sortForCreate(parseValue(values[key]!)))
}

function parseValue(text: string): readonly UnknownObject[] {
  if (Buffer.byteLength(text) < PEEK_BYTES) throw parseFault('EOF')
  if (/^\s*\[/.test(text)) return parseList(text)
  return readDocuments(text).flatMap(({ number, error, value: read }) => {
    if (error) throw parseFault(`failed to unmarshal the ${number}th yaml document: ${error.message.split('\n')[0]}`)
    const value = read()
    if (value === undefined) return []
    if (!isPlainObject(value) || typeof value['kind'] !== 'string') throw parseFault("Object 'Kind' is missing")
    return [value as unknown as UnknownObject]
  })
}

function parseList(text: string): readonly UnknownObject[] {
  try {
    const list: unknown = parseJson(text)
    return Array.isArray(list) && list.every(isPlainObject) ? (list as unknown as UnknownObject[]) : []
  } catch {
    return []
  }
}

function sortForCreate(objects: readonly UnknownObject[]): readonly UnknownObject[] {
  const rank = ({ kind }: UnknownObject) => (FIRST.includes(kind) ? FIRST.indexOf(kind) : FIRST.length)
  return objects.toSorted((a, b) => rank(a) - rank(b))
}

const parseFault = (message: string) =>
  new CaptError('CAPT_RESOURCE_SET_PARSE', message, { hint: 'Correct the value of the ConfigMap or Secret' })
