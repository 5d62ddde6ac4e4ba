// A ClusterResourceSet or Binding in one API version from the other. The embedded home stores v1beta2; the conditions of
// v1beta1 live under status.deprecated there, and those of v1beta2 under status.v1beta2 here, as core keeps them.
import type { AnyObject, ClusterApiVersion } from '#api'
import { isPlainObject } from '#lib'
import { ADDONS_GROUP } from './crd.ts'

type Fields = Record<string, unknown>
const fieldsOf = (value: unknown): Fields => (isPlainObject(value) ? value : {})
const defined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

export function convertResourceSet<T extends AnyObject>(object: T, toVersion: ClusterApiVersion): T {
  const apiVersion = `${ADDONS_GROUP}/${toVersion}`
  if (object.apiVersion === apiVersion) return object
  const { status, ...rest } = object as T & { readonly status?: unknown }
  if (status === undefined) return { ...rest, apiVersion } as unknown as T
  const found = fieldsOf(status)
  return { ...rest, apiVersion, status: toVersion === 'v1beta1' ? toV1Beta1(found) : toV1Beta2(found) } as unknown as T
}

function toV1Beta1({ observedGeneration, conditions, deprecated }: Fields): Fields {
  const old = fieldsOf(fieldsOf(deprecated)['v1beta1'])['conditions']
  return defined({
    observedGeneration,
    conditions: old,
    v1beta2: conditions === undefined ? undefined : { conditions },
  })
}

function toV1Beta2({ observedGeneration, conditions, v1beta2 }: Fields): Fields {
  const deprecated = conditions === undefined ? undefined : { v1beta1: { conditions } }
  return defined({ observedGeneration, conditions: fieldsOf(v1beta2)['conditions'], deprecated })
}

export function convertResourceSetBinding<T extends AnyObject>(object: T, toVersion: ClusterApiVersion): T {
  const apiVersion = `${ADDONS_GROUP}/${toVersion}`
  if (object.apiVersion === apiVersion) return object
  const { spec } = object as T & { readonly spec?: unknown }
  const wanted = fieldsOf(spec)
  if (toVersion === 'v1beta1' || !Array.isArray(wanted['bindings'])) return { ...object, apiVersion }
  // `applied` is required in v1beta2; v1beta1 leaves it out when it is false.
  const bindings = wanted['bindings'].map((binding: unknown) => {
    const { resources, ...rest } = fieldsOf(binding)
    if (!Array.isArray(resources)) return rest
    return {
      ...rest,
      resources: resources.map((one: unknown) => ({ ...fieldsOf(one), applied: fieldsOf(one)['applied'] === true })),
    }
  })
  return { ...object, apiVersion, spec: { ...wanted, bindings } } as unknown as T
}
