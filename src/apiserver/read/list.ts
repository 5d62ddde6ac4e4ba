// Lists: consistent at one version, paged by continue tokens that stay at that version until history forgets it.
import { parseJson } from '#lib'
import type { ApiObject } from '../object.ts'
import { badRequest, expired, forbiddenFault, invalidOptions, tooLargeVersion, unsupportedFault } from '../status.ts'
import type { History } from '../store/history.ts'
import type { Position, RealmStore, Row } from '../store/store.ts'
import { pick, type Selection } from './selection.ts'

export interface Page {
  readonly objects: readonly ApiObject[]
  readonly version: number
  readonly next?: Position
  readonly remaining?: number
}

export interface VersionedStore {
  readonly store: RealmStore
  readonly history: History
}

export interface PageRequest {
  readonly limit: number
  /** Continue after this position at this version. */
  readonly from?: { readonly version: number; readonly after: Position }
  /** Exactly the state of this version. */
  readonly exact?: number
}

export function listPage(stored: VersionedStore, selection: Selection, request: PageRequest): Page {
  const { store } = stored
  const version = request.from?.version ?? request.exact ?? store.version()
  const after = request.from?.after
  const objects: ApiObject[] = []
  let last: Position | undefined
  for (const row of rowsAt(stored, selection, version, after)) {
    if (request.limit > 0 && objects.length === request.limit) {
      const remaining = selection.isEverything ? remainingAfter(store, selection, last!) : undefined
      return { objects, version, next: last!, ...(remaining === undefined ? {} : { remaining }) }
    }
    const object = pick(selection, parseJson(row.text) as ApiObject)
    last = row
    if (object) objects.push(object)
  }
  return { objects, version }
}

function remainingAfter(store: RealmStore, { type, namespace }: Selection, after: Position): number {
  return store.count(type.collection, { namespace, after })
}

const TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result: start a new list without it'

/** Rows in order as they were at the version. */
function* rowsAt(
  stored: VersionedStore,
  selection: Selection,
  version: number,
  after: Position | undefined,
): Iterable<Row> {
  const { store, history } = stored
  const { type, namespace } = selection
  const scan = store.scan(type.collection, { namespace, after })
  if (version === store.version()) return yield* scan
  const then = history.rewind(type.collection, version)
  if (!then) throw expired(TOO_OLD)
  const past = [...then.values()]
    .filter((row): row is Row => row !== undefined)
    .filter((row) => namespace === undefined || row.namespace === namespace)
    .filter((row) => after === undefined || comparePositions(row, after) > 0)
    .sort(comparePositions)
  for (const row of scan) {
    while (past.length > 0 && comparePositions(past[0]!, row) < 0) yield past.shift()!
    if (!then.has(`${row.namespace}/${row.name}`)) yield row
  }
  yield* past
}

function comparePositions(a: Position, b: Position): number {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1
}

/** Reads limit, continue, resourceVersion and resourceVersionMatch as kube-apiserver does. */
export function readPageRequest(query: URLSearchParams, current: number): PageRequest {
  const wanted = Number(query.get('limit') ?? 0)
  if (!Number.isInteger(wanted)) throw badRequest(`strconv.ParseInt: parsing "${query.get('limit')}": invalid syntax`)
  const limit = Math.max(0, wanted)
  const token = query.get('continue')
  const match = query.get('resourceVersionMatch') ?? ''
  const asked = query.get('resourceVersion') ?? ''
  if (token) {
    if (match !== '') throw refuseMatch('resourceVersionMatch is forbidden for continue')
    if (asked !== '' && asked !== '0')
      throw badRequest('specifying resource version is not allowed when using continue')
    return { limit, from: decodeToken(token) }
  }
  if (match !== '' && asked === '')
    throw refuseMatch('resourceVersionMatch is forbidden unless resourceVersion is provided')
  if (match !== '' && match !== 'Exact' && match !== 'NotOlderThan') {
    throw invalidOptions('ListOptions', unsupportedFault('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']))
  }
  if (asked === '' || asked === '0') {
    if (match === 'Exact') throw refuseMatch('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
    return { limit }
  }
  const version = parseVersion(asked)
  if (version > current) throw tooLargeVersion(version, current)
  // A limit with a version and no match is the old way of asking for exactly that version.
  return match === 'Exact' || (match === '' && limit > 0) ? { limit, exact: version } : { limit }
}

export const refuseMatch = (why: string) => invalidOptions('ListOptions', forbiddenFault('resourceVersionMatch', why))

export function parseVersion(text: string): number {
  if (!/^\d+$/.test(text))
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`,
    )
  return Number(text)
}

export function encodeToken(version: number, after: Position): string {
  return Buffer.from(
    JSON.stringify({ v: 'meta.k8s.io/v1', rv: version, start: [after.namespace, after.name] }),
  ).toString('base64url')
}

function decodeToken(token: string): { version: number; after: Position } {
  try {
    const { v, rv, start } = JSON.parse(Buffer.from(token, 'base64url').toString('utf8')) as Record<string, unknown>
    const [namespace, name] = start as [unknown, unknown]
    if (v === 'meta.k8s.io/v1' && Number.isInteger(rv) && typeof namespace === 'string' && typeof name === 'string') {
      return { version: rv as number, after: { namespace, name } }
    }
  } catch {
    // Not ours: refused below.
  }
  throw badRequest('invalid continue token: continue key is not valid: a token of another server or a damaged one')
}
