// A MachinePool in one API version from the other. The embedded home stores v1beta2 and serves both.
import type { AnyObject, ClusterApiVersion } from '#api'
import { definedFields, fieldsOf, isPlainObject } from '#lib'
import { convertObject, type Fields, refToV1Beta1, refToV1Beta2, someFields } from '../convert.ts'

export function convertMachinePool<T extends AnyObject>(object: T, toVersion: ClusterApiVersion): T {
  const toOldRef = (ref: unknown) => refToV1Beta1(ref, object.metadata.namespace)
  return convertObject(object, toVersion, {
    v1beta1: { spec: (spec) => toSpec(spec, toOldRef), status: statusToV1Beta1 },
    v1beta2: { spec: (spec) => toSpec(spec, refToV1Beta2), status: statusToV1Beta2 },
  })
}

function toSpec(spec: Fields, toRef: (ref: unknown) => unknown): Fields {
  if (!isPlainObject(spec['template'])) return spec
  const { spec: inner, ...template } = spec['template']
  const { bootstrap, infrastructureRef, ...same } = fieldsOf(inner)
  const { configRef, ...data } = fieldsOf(bootstrap)
  return {
    ...spec,
    template: {
      ...template,
      spec: definedFields({
        ...same,
        bootstrap: bootstrap === undefined ? undefined : definedFields({ ...data, configRef: toRef(configRef) }),
        infrastructureRef: toRef(infrastructureRef),
      }),
    },
  }
}

function statusToV1Beta1({ initialization, conditions, ...same }: Fields): Fields {
  const { infrastructureProvisioned, bootstrapDataSecretCreated } = fieldsOf(initialization)
  return definedFields({
    ...same,
    infrastructureReady: infrastructureProvisioned === true,
    bootstrapReady: bootstrapDataSecretCreated === true,
    v1beta2: conditions === undefined ? undefined : { conditions },
  })
}

function statusToV1Beta2({ infrastructureReady, bootstrapReady, v1beta2, ...same }: Fields): Fields {
  return definedFields({
    ...same,
    initialization: someFields({
      infrastructureProvisioned: infrastructureReady === true ? true : undefined,
      bootstrapDataSecretCreated: bootstrapReady === true ? true : undefined,
    }),
    conditions: fieldsOf(v1beta2)['conditions'],
  })
}
