// A ClusterResourceSet or Binding in one API version from the other. The embedded home stores v1beta2; the conditions of
// v1beta1 live under status.deprecated there, and those of v1beta2 under status.v1beta2 here, as core keeps them.
import type { AnyObject, ClusterApiVersion } from '#api'
import { definedFields, fieldsOf } from '#lib'
import { convertObject, type Fields } from '../convert.ts'

export function convertResourceSet<T extends AnyObject>(object: T, toVersion: ClusterApiVersion): T {
  return convertObject(object, toVersion, { v1beta1: { status: toV1Beta1 }, v1beta2: { status: toV1Beta2 } })
}

function toV1Beta1({ observedGeneration, conditions, deprecated }: Fields): Fields {
  const old = fieldsOf(fieldsOf(deprecated)['v1beta1'])['conditions']
  return definedFields({
    observedGeneration,
    conditions: old,
    v1beta2: conditions === undefined ? undefined : { conditions },
  })
}

function toV1Beta2({ observedGeneration, conditions, v1beta2 }: Fields): Fields {
  const deprecated = conditions === undefined ? undefined : { v1beta1: { conditions } }
  return definedFields({ observedGeneration, conditions: fieldsOf(v1beta2)['conditions'], deprecated })
}

export function convertResourceSetBinding<T extends AnyObject>(object: T, toVersion: ClusterApiVersion): T {
  return convertObject(object, toVersion, { v1beta1: {}, v1beta2: { spec: bindingToV1Beta2 } })
}

/** `applied` is required in v1beta2; v1beta1 leaves it out when it is false. */
function bindingToV1Beta2(spec: Fields): Fields {
  if (!Array.isArray(spec['bindings'])) return spec
  const bindings = spec['bindings'].map((binding: unknown) => {
    const { resources, ...rest } = fieldsOf(binding)
    if (!Array.isArray(resources)) return rest
    return {
      ...rest,
      resources: resources.map((one: unknown) => ({ ...fieldsOf(one), applied: fieldsOf(one)['applied'] === true })),
    }
  })
  return { ...spec, bindings }
}
