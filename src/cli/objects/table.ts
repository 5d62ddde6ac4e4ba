// Tables as the server prints them: one per kind, with the columns of the kind, cells in one line each.
import type { AnyObject, KindRef } from '#api'
import type { Connected } from '#kube'
import { type CaptError, parseJson } from '#lib'
import { askGroup, type Group } from './select.ts'

const ACCEPT = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'

interface ServerTable {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority?: number }[]
  readonly rows: readonly {
    readonly cells: readonly unknown[]
    readonly object: { readonly metadata: AnyObject['metadata'] }
  }[]
}

export interface Row {
  /** Namespace and name. */
  readonly id: string
  readonly version: string
  readonly cells: readonly string[]
}

interface Table {
  readonly kind: KindRef
  readonly head: readonly string[]
  readonly rows: readonly Row[]
  readonly missing: readonly CaptError[]
}

interface TableOptions {
  readonly isWide: boolean
  /** Names with their kind before them: of a command that prints several tables. */
  readonly isQualified: boolean
}

export async function readTable(group: Group, options: TableOptions, connected: Connected): Promise<Table> {
  const { kind } = group
  const { bodies, missing } = await askGroup(group, ACCEPT, connected)
  const tables = bodies.map((body) => parseJson(body) as ServerTable)
  const columns = (tables[0]?.columnDefinitions ?? [])
    .map(({ name, priority }, i) => ({ name: name.toUpperCase(), priority, i }))
    .filter(({ priority }) => options.isWide || !priority)
  const isEverywhere = group.namespace === undefined
  const prefix = options.isQualified ? `${kind.kind.toLowerCase()}/` : ''
  const rows = tables
    .flatMap((table) => table.rows)
    .map(({ cells, object: { metadata } }) => ({
      id: `${metadata.namespace ?? ''}/${metadata.name}`,
      version: metadata.resourceVersion ?? '',
      cells: [
        ...(isEverywhere ? [metadata.namespace ?? ''] : []),
        ...columns.map(({ name, i }) => `${name === 'NAME' ? prefix : ''}${toCell(cells[i])}`),
      ],
    }))
  return { kind, head: [...(isEverywhere ? ['NAMESPACE'] : []), ...columns.map(({ name }) => name)], rows, missing }
}

const toCell = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value).replace(/\s+/g, ' ').trim()
