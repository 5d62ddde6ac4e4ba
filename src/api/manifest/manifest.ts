// Reads manifests from YAML or JSON text and says what is wrong with them by file, document and line.
import type { LineCounter, Node } from 'yaml'
import { CaptError, closest, editDistance, isCaptError, isPlainObject, type Json, messageOf } from '#lib'
import { checkObject, type ObjectFault } from '../check-object.ts'
import type { Kind } from '../define-kind.ts'
import { ALL_KINDS } from '../kinds/index.ts'
import type { UnknownObject } from '../object.ts'
import { loadYaml } from '../schema/lazy.ts'
import { readDocuments } from './documents.ts'
import { childOf, lineOfNode, lineOfPath } from './lines.ts'
import { respell } from './spelling.ts'

export interface Manifest {
  readonly object: UnknownObject
  readonly file: string
  /** Counted from 1, as people count. */
  readonly document: number
  readonly line: number
  /** Notes that are not errors, such as an old spelling that was understood. */
  readonly notes: readonly string[]
  /** Labels and annotations for an object that is there; the rest of it stays. */
  readonly isAddition?: boolean
  /** spec.strategy is our choice; a live set keeps the one it has, which cannot be changed. */
  readonly isStrategyAssumed?: boolean
  /** Line of the field at this path, or of the closest one above it that is there. */
  lineOf(path: string): number
}

interface ManifestFault extends ObjectFault {
  /** `CAPTCluster/demo`. */
  readonly subject: string
  /** `cluster.yaml, document 2, line 31`. */
  readonly at: string
}

/** Throws CAPT_MANIFEST_INVALID at the first document that is no Kubernetes object. Empty documents are passed over. */
export function readManifests(text: string, file: string): Manifest[] {
  const { LineCounter } = loadYaml()
  const lines = new LineCounter()
  return readDocuments(text, lines).flatMap(({ number, error, contents, value }) => {
    const place = { file, number, lines }
    if (error) throw invalid(explain(error.code, error.message), place, lines.linePos(error.pos[0]).line)
    try {
      const read = value()
      return read === undefined ? [] : readObject(read as Json, contents as Node, place)
    } catch (cause) {
      throw isCaptError(cause) ? cause : invalid(messageOf(cause), place, lineOfNode(contents, lines))
    }
  })
}

interface Place {
  readonly file: string
  readonly number: number
  readonly lines: LineCounter
}

function readObject(value: Json, node: Node, place: Place): Manifest[] {
  const line = lineOfNode(node, place.lines)
  if (!isPlainObject(value)) throw invalid('is not a Kubernetes object', place, line)
  const { apiVersion, kind, items } = value
  for (const [field, found] of Object.entries({ apiVersion, kind })) {
    if (typeof found !== 'string' || found === '') throw invalid(`has no ${field}`, place, line)
  }
  if (String(kind).endsWith('List') && Array.isArray(items)) {
    const list = childOf(node, 'items')
    return items.flatMap((item, i) => readObject(item as Json, (list && childOf(list.value, i)?.value) ?? node, place))
  }
  const { value: object, old } = respell(value as Json)
  return [
    {
      object: object as unknown as UnknownObject,
      file: place.file,
      document: place.number,
      line,
      notes: old.map((spelling) => `${spelling} is spelt CAPT${spelling.slice(4)}; it was read as that`),
      lineOf: (path) => lineOfPath(node, path, place.lines),
    },
  ]
}

function explain(code: string, message: string): string {
  if (code === 'DUPLICATE_KEY') return 'has the same key twice in one map'
  if (code === 'TAB_AS_INDENT') return 'is indented with a tab; YAML allows only spaces'
  return `cannot be read: ${message.split('\n')[0]}`
}

function invalid(what: string, place: Place, line: number): CaptError {
  return new CaptError('CAPT_MANIFEST_INVALID', `Document ${place.number} of ${place.file} ${what}`, {
    at: `${place.file}, document ${place.number}, line ${line}`,
    hint: 'every document needs apiVersion, kind and metadata.name; documents are separated by a line ---',
  })
}

/** Faults of the manifests whose kind is ours. Others are for the server to check. */
export function checkManifests(manifests: readonly Manifest[]): ManifestFault[] {
  return manifests.flatMap((manifest) => {
    const { apiVersion, kind, metadata } = manifest.object
    const subject = `${kind}/${isPlainObject(metadata) ? String(metadata['name'] ?? '') : ''}`
    const at = (path: string) => `${manifest.file}, document ${manifest.document}, line ${manifest.lineOf(path)}`
    return faultsOf(manifest.object, apiVersion, kind).map((fault) => ({ ...fault, subject, at: at(fault.path) }))
  })
}

function faultsOf(object: UnknownObject, apiVersion: string, kind: string): readonly ObjectFault[] {
  const [group] = apiVersion.split('/')
  const ours = ALL_KINDS.find((one) => one.group === group && one.kind === kind)
  if (!ours) return unknownKind(group!, kind)
  if (ours.apiVersion !== apiVersion)
    return [{ path: 'apiVersion', message: `${apiVersion} is not served`, hint: `write ${ours.apiVersion}` }]
  return checkObject(ours as Kind, object).faults
}

/** Other providers share our API groups: only what looks like one of our kinds is called a mistake. */
function unknownKind(group: string, kind: string): ObjectFault[] {
  const sameName = ALL_KINDS.find((one) => one.kind === kind)
  if (sameName && group.endsWith('cluster.x-k8s.io'))
    return [
      { path: 'apiVersion', message: `${kind} is not of the group ${group}`, hint: `write ${sameName.apiVersion}` },
    ]
  const inGroup = ALL_KINDS.filter((one) => one.group === group).map((one) => one.kind)
  const near = closest(kind, inGroup)
  // AWSCluster is not a misspelt CAPTCluster.
  const meant = near && (/^capt/i.test(kind) || editDistance(kind, near) <= 2) ? near : undefined
  if (inGroup.length === 0 || (!meant && !/^capt/i.test(kind))) return []
  return [
    {
      path: 'kind',
      message: `there is no kind ${kind}`,
      hint: meant ? `did you mean ${meant}?` : `known kinds: ${inGroup.join(', ')}`,
    },
  ]
}

/** The error a command shows for the first fault. */
export function toCaptError(fault: ManifestFault, more = 0): CaptError {
  const where = fault.path === '' ? '' : `${fault.path}: `
  const rest = more > 0 ? ` (and ${more} more)` : ''
  return new CaptError('CAPT_INVALID', `${fault.subject}: ${where}${fault.message}${rest}`, {
    at: fault.at,
    ...(fault.hint === undefined ? {} : { hint: fault.hint }),
  })
}
