// Objects as rows, the way `kubectl get` asks for them.
import type { ServedVersion } from '../kinds/resource.ts'
import type { ApiObject } from '../object.ts'

export type IncludeObject = 'Metadata' | 'Object' | 'None'

function columnDefinitions(version: ServedVersion): readonly object[] {
  return version.columns.map(({ name, type, format, description, priority }) => ({
    name,
    type,
    format: format ?? '',
    description,
    priority,
  }))
}

function toRow(object: ApiObject, version: ServedVersion, include: IncludeObject, now: number): object {
  const cells = version.columns.map((column) => column.cell(object, now) ?? null)
  if (include === 'None') return { cells, object: null }
  return { cells, object: include === 'Object' ? object : toPartialMetadata(object) }
}

export function toPartialMetadata(object: ApiObject, version = 'v1'): object {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata }
}

export function toTable(
  objects: readonly ApiObject[],
  version: ServedVersion,
  options: {
    readonly apiVersion: string
    readonly metadata: object
    readonly include: IncludeObject
    readonly now: number
    readonly headers?: boolean
  },
): object {
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${options.apiVersion}`,
    metadata: options.metadata,
    columnDefinitions: options.headers === false ? null : columnDefinitions(version),
    rows: objects.map((object) => toRow(object, version, options.include, options.now)),
  }
}
