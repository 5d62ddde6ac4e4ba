// Objects as this server holds them: parsed JSON that we own and may change in place before it is stored.

import type { OwnerReference } from '#api'
import { fieldsOf, ownValueAt, parseJson } from '#lib'

export interface Metadata {
  name: string
  namespace?: string
  generateName?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  finalizers?: string[]
  ownerReferences?: OwnerReference[]
  managedFields?: ManagedFields[]
}

export interface ManagedFields {
  manager?: string
  operation: 'Apply' | 'Update'
  apiVersion: string
  time?: string
  fieldsType?: 'FieldsV1'
  fieldsV1?: Record<string, unknown>
  subresource?: string
}

export interface ApiObject {
  apiVersion: string
  kind: string
  metadata: Metadata
  [field: string]: unknown
}

export function cloneJson<T>(value: T): T {
  return value === undefined ? value : (parseJson(JSON.stringify(value)) as T)
}

/** The value at a path of keys, undefined as soon as a step is missing. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  return ownValueAt(value, path)
}

export function recordAt(value: unknown, ...path: readonly string[]): Record<string, unknown> {
  return fieldsOf(valueAt(value, ...path))
}

export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path)
  return Array.isArray(found) ? found : []
}

export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path)
  return typeof found === 'string' ? found : /^(number|bigint|boolean)$/.test(typeof found) ? `${found}` : ''
}
