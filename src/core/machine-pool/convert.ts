// A MachinePool in one API version from the other. The embedded home stores v1beta2 and serves both.
import { type AnyObject, CLUSTER_GROUP, type ClusterApiVersion } from '#api'
import { isPlainObject } from '#lib'
import { refToV1Beta1, refToV1Beta2 } from '../cluster/convert.ts'

type Fields = Record<string, unknown>
const fieldsOf = (value: unknown): Fields => (isPlainObject(value) ? value : {})
const defined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

export function convertMachinePool<T extends AnyObject>(object: T, toVersion: ClusterApiVersion): T {
  const apiVersion = `${CLUSTER_GROUP}/${toVersion}`
  if (object.apiVersion === apiVersion) return object
  const { spec, status, ...rest } = object as T & { readonly spec?: unknown; readonly status?: unknown }
  const isOld = toVersion === 'v1beta1'
  const toRef = (ref: unknown) => (isOld ? refToV1Beta1(ref, object.metadata.namespace) : refToV1Beta2(ref))
  const toStatus = isOld ? statusToV1Beta1 : statusToV1Beta2
  return {
    ...rest,
    apiVersion,
    ...(spec === undefined ? {} : { spec: toSpec(fieldsOf(spec), toRef) }),
    ...(status === undefined ? {} : { status: toStatus(fieldsOf(status)) }),
  } as unknown as T
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
      spec: defined({
        ...same,
        bootstrap: bootstrap === undefined ? undefined : defined({ ...data, configRef: toRef(configRef) }),
        infrastructureRef: toRef(infrastructureRef),
      }),
    },
  }
}

function statusToV1Beta1({ initialization, conditions, ...same }: Fields): Fields {
  const { infrastructureProvisioned, bootstrapDataSecretCreated } = fieldsOf(initialization)
  return defined({
    ...same,
    infrastructureReady: infrastructureProvisioned === true,
    bootstrapReady: bootstrapDataSecretCreated === true,
    v1beta2: conditions === undefined ? undefined : { conditions },
  })
}

function statusToV1Beta2({ infrastructureReady, bootstrapReady, v1beta2, ...same }: Fields): Fields {
  const initialization = defined({
    infrastructureProvisioned: infrastructureReady === true ? true : undefined,
    bootstrapDataSecretCreated: bootstrapReady === true ? true : undefined,
  })
  return defined({
    ...same,
    initialization: Object.keys(initialization).length === 0 ? undefined : initialization,
    conditions: fieldsOf(v1beta2)['conditions'],
  })
}
