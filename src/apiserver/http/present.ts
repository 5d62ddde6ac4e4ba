// The form in which objects go back: as they are, as rows of a table, or their metadata alone.
import type { Served } from '../kinds/registry.ts'
import { apiVersionIn } from '../kinds/resource.ts'
import type { ApiObject } from '../object.ts'
import { type IncludeObject, toPartialMetadata, toTable } from '../present/table.ts'
import { badRequest } from '../status.ts'
import type { Answer } from './answer.ts'
import type { Exchange } from './exchange.ts'

export function toList({ type, version }: Served, objects: readonly ApiObject[], metadata: object): object {
  // Items of built-in lists carry no type of their own; those of custom resources do.
  const items = type.custom ? objects : objects.map(({ apiVersion: _, kind: __, ...rest }) => rest)
  return {
    kind: type.listKind,
    apiVersion: apiVersionIn(type, version.name),
    metadata: type.custom ? { continue: '', ...metadata } : metadata,
    items,
  }
}

function include(query: URLSearchParams): IncludeObject {
  const asked = query.get('includeObject') ?? 'Metadata'
  if (asked !== 'Metadata' && asked !== 'Object' && asked !== 'None')
    throw badRequest(`includeObject: Unsupported value: "${asked}"`)
  return asked
}

/** Undefined when the client asks for another form. */
export function tableOf(
  { form, query, realm }: Exchange,
  { version }: Served,
  objects: readonly ApiObject[],
  metadata: object,
): object | undefined {
  if (form.is !== 'table') return undefined
  const now = realm.world.clock.now()
  return toTable(objects, version, { apiVersion: form.version, metadata, include: include(query), now })
}

export function present(exchange: Exchange, served: Served, object: ApiObject, code: number): Answer {
  const { form } = exchange
  const { resourceVersion = '' } = object.metadata
  const table = tableOf(exchange, served, [object], { resourceVersion })
  if (table) return { code, value: table }
  return { code, value: form.is === 'metadata' ? toPartialMetadata(object, form.version) : object }
}
