// An object of core in one API version from the other: what the conversions of all its kinds share. The embedded home
// stores v1beta2 and serves both.
import { type AnyObject, type ClusterApiVersion, groupOf } from '#api'
import { definedFields, fieldsOf, isPlainObject } from '#lib'

export type Fields = Record<string, unknown>

interface Conversion {
  readonly spec?: (spec: Fields) => Fields
  readonly status?: (status: Fields) => Fields
}

/** Converts spec and status, as far as they differ between the versions. */
export function convertObject<T extends AnyObject>(
  object: T,
  toVersion: ClusterApiVersion,
  conversions: Readonly<Record<ClusterApiVersion, Conversion>>,
): T {
  const apiVersion = `${groupOf(object.apiVersion)}/${toVersion}`
  if (object.apiVersion === apiVersion) return object
  const { spec, status } = object as T & { readonly spec?: unknown; readonly status?: unknown }
  const { spec: toSpec, status: toStatus } = conversions[toVersion]
  return {
    ...object,
    apiVersion,
    ...(spec === undefined || !toSpec ? {} : { spec: toSpec(fieldsOf(spec)) }),
    ...(status === undefined || !toStatus ? {} : { status: toStatus(fieldsOf(status)) }),
  }
}

/** v1beta1 names a version; every provider that serves this contract still has one called v1beta1. */
export function refToV1Beta1(ref: unknown, namespace: string | undefined): Fields | undefined {
  if (!isPlainObject(ref)) return undefined
  const { apiGroup, kind, name } = ref
  return definedFields({ apiVersion: `${String(apiGroup)}/v1beta1`, kind, name, namespace })
}

export function refToV1Beta2(ref: unknown): Fields | undefined {
  if (!isPlainObject(ref)) return undefined
  const { apiVersion, kind, name } = ref
  return definedFields({ apiGroup: groupOf(String(apiVersion ?? '')), kind, name })
}

/** The defined fields; undefined when there are none. */
export function someFields(fields: Fields): Fields | undefined {
  const some = definedFields(fields)
  return Object.keys(some).length === 0 ? undefined : some
}
