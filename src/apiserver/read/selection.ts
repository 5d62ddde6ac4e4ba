// Which objects a request is about: a namespace, labels, fields.
import { compileFieldSelector } from '../field-selector.ts'
import type { Served } from '../kinds/registry.ts'
import { parseLabelSelector } from '../label-selector.ts'
import type { ApiObject } from '../object.ts'

export interface Selection extends Served {
  /** Undefined: every namespace. */
  readonly namespace: string | undefined
  /** Tests the object as it is stored; false spares the conversion. */
  labels(object: ApiObject): boolean
  /** Tests the object as it is served. */
  fields(object: ApiObject): boolean
  readonly isEverything: boolean
}

export function select(served: Served, namespace: string | undefined, query: URLSearchParams): Selection {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '')
  const fields = compileFieldSelector(query.get('fieldSelector') ?? '', served.version.selectable)
  return {
    ...served,
    namespace,
    labels: labels ? (object) => labels(object.metadata.labels ?? {}) : () => true,
    fields: fields.test ?? (() => true),
    isEverything: labels === undefined && fields.test === undefined,
  }
}

/** The object as this selection serves it, or undefined when it is not selected. */
export function pick(selection: Selection, stored: ApiObject): ApiObject | undefined {
  const { namespace, type, version } = selection
  if (namespace !== undefined && stored.metadata.namespace !== namespace) return undefined
  if (!selection.labels(stored)) return undefined
  const served = type.toServed(stored, version.name)
  return selection.fields(served) ? served : undefined
}
