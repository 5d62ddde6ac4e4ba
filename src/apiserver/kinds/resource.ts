// One kind as the server sees it: how it is addressed, which versions it is served in, how objects are checked, and how
// what is stored becomes what is served. Built-in kinds and custom ones have the same shape, so no other code distinguishes them.
import type { Fault, JsonSchema } from '#api'
import type { ApiObject } from '../object.ts'
import type { Collection } from '../store/store.ts'

export interface TableColumn {
  readonly name: string
  readonly type: string
  readonly format?: string
  readonly description: string
  readonly priority: number
  cell(object: ApiObject, now: number): unknown
}

export interface ScalePaths {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  readonly labelSelectorPath?: string
}

/** Turns what a client sent into what may be stored, and validates it. */
export interface ObjectCheck {
  /** Drops what the schema does not know and fills defaults. `unknown` lists the paths of what was dropped. */
  admit(object: ApiObject): { readonly object: ApiObject; readonly unknown: readonly string[] }
  validate(object: ApiObject, old?: ApiObject): readonly Fault[]
}

export interface ServedVersion {
  readonly name: string
  /** Schema of the whole object; for merging, OpenAPI and explain. */
  readonly schema: JsonSchema
  readonly check: ObjectCheck
  readonly status: boolean
  readonly scale?: ScalePaths
  readonly columns: readonly TableColumn[]
  readonly selectable: readonly string[]
  /** Sent as a Warning header with every answer in this version. */
  readonly deprecation?: string
}

/** What differs between kinds when objects are written. Everything is optional: the absent rule is the common one. */
export interface Rules {
  /** Status of the whole: metadata.generation is kept for this kind. */
  readonly generation?: boolean
  /** PUT without a resourceVersion is allowed. */
  readonly unconditionalUpdate?: boolean
  /** PUT creates what is not there. */
  readonly createOnUpdate?: boolean
  readonly name?: 'subdomain' | 'label' | 'path'
  /** Fills what the server itself decides; may change the object. `old` is undefined on create. */
  readonly prepare?: (object: ApiObject, old: ApiObject | undefined) => void
  readonly validate?: (object: ApiObject, old: ApiObject | undefined) => readonly Fault[]
  /** What the first delete does to an object that cannot go at once, instead of the usual marks. */
  readonly retire?: (object: ApiObject) => void
}

export interface ResourceType {
  readonly group: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly listKind: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly namespaced: boolean
  readonly custom: boolean
  /** Its definition is being deleted: nothing new may come. */
  readonly terminating?: boolean
  /** Served versions, preferred first. */
  readonly versions: readonly ServedVersion[]
  readonly storageVersion: string
  /** Served versions that need a conversion webhook, which this server does not call: requests for them are refused. */
  readonly unconvertible?: readonly string[]
  readonly collection: Collection
  readonly rules: Rules
  /** Subresources beyond status and scale, as discovery lists them. */
  readonly subresources?: readonly string[]
  /** The object as stored, given one in a served version. May change and return its argument. */
  toStored(object: ApiObject): ApiObject
  /** The object in a served version, given the stored one. May change and return its argument. */
  toServed(object: ApiObject, version: string): ApiObject
}

/** Whether all objects of the kind may be deleted with one request. Of namespaces that would be everything there is. */
export const canBeEmptied = ({ group, plural }: Pick<ResourceType, 'group' | 'plural'>): boolean =>
  !(group === '' && plural === 'namespaces')

export function apiVersionIn(type: Pick<ResourceType, 'group'>, version: string): string {
  return type.group === '' ? version : `${type.group}/${version}`
}

/** The stored object as the present definition of its kind would store it. */
export function refreshed(type: ResourceType, stored: ApiObject): ApiObject {
  // Without its conversion an object stays in the version in which it was stored.
  if (type.unconvertible && stored.apiVersion !== apiVersionIn(type, type.storageVersion)) return stored
  return type.custom ? type.toServed(stored, type.storageVersion) : stored
}

export function versionOf(type: ResourceType, name: string): ServedVersion | undefined {
  return type.versions.find((version) => version.name === name)
}
