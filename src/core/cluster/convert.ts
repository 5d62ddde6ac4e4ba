// A Cluster in one API version from the other. The embedded home stores v1beta2 and serves both.
// What we keep true is in `fields`; fields that only one version has survive under status.deprecated and status.v1beta2,
// as core Cluster API keeps them.
import { type AnyObject, CLUSTER_GROUP, type ClusterApiVersion, groupOf } from '#api'
import { isPlainObject } from '#lib'

type Fields = Record<string, unknown>
const fieldsOf = (value: unknown): Fields => (isPlainObject(value) ? value : {})
const defined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
const orNothing = (fields: Fields): Fields | undefined => (Object.keys(fields).length === 0 ? undefined : fields)

export function convertCluster<T extends AnyObject>(object: T, toVersion: ClusterApiVersion): T {
  const apiVersion = `${CLUSTER_GROUP}/${toVersion}`
  if (object.apiVersion === apiVersion) return object
  const { spec, status, ...rest } = object as T & { readonly spec?: unknown; readonly status?: unknown }
  const namespace = object.metadata.namespace
  const [toSpec, toStatus] =
    toVersion === 'v1beta1'
      ? [(from: Fields) => specToV1Beta1(from, namespace), statusToV1Beta1]
      : [specToV1Beta2, statusToV1Beta2]
  return {
    ...rest,
    apiVersion,
    ...(spec === undefined ? {} : { spec: toSpec(fieldsOf(spec)) }),
    ...(status === undefined ? {} : { status: toStatus(fieldsOf(status)) }),
  } as unknown as T
}

function specToV1Beta1(spec: Fields, namespace: string | undefined): Fields {
  const { infrastructureRef, controlPlaneRef, ...same } = spec
  return defined({
    ...same,
    infrastructureRef: refToV1Beta1(infrastructureRef, namespace),
    controlPlaneRef: refToV1Beta1(controlPlaneRef, namespace),
  })
}

/** v1beta1 names a version; every provider that serves this contract still has one called v1beta1. */
export function refToV1Beta1(ref: unknown, namespace: string | undefined): Fields | undefined {
  if (!isPlainObject(ref)) return undefined
  const { apiGroup, kind, name } = ref
  return defined({ apiVersion: `${String(apiGroup)}/v1beta1`, kind, name, namespace })
}

function specToV1Beta2(spec: Fields): Fields {
  const { infrastructureRef, controlPlaneRef, controlPlaneEndpoint, ...same } = spec
  return defined({
    ...same,
    controlPlaneEndpoint: endpointToV1Beta2(controlPlaneEndpoint),
    infrastructureRef: refToV1Beta2(infrastructureRef),
    controlPlaneRef: refToV1Beta2(controlPlaneRef),
  })
}

export function refToV1Beta2(ref: unknown): Fields | undefined {
  if (!isPlainObject(ref)) return undefined
  const { apiVersion, kind, name } = ref
  return defined({ apiGroup: groupOf(String(apiVersion ?? '')), kind, name })
}

/** v1beta1 writes both keys even when they mean nothing. */
function endpointToV1Beta2(endpoint: unknown): Fields | undefined {
  const { host, port } = fieldsOf(endpoint)
  return orNothing(defined({ host: host === '' ? undefined : host, port: port === 0 ? undefined : port }))
}

function statusToV1Beta1(status: Fields): Fields {
  const { conditions, initialization, controlPlane, workers, deprecated, ...same } = status
  const old = fieldsOf(fieldsOf(deprecated)['v1beta1'])
  const { infrastructureProvisioned, controlPlaneInitialized } = fieldsOf(initialization)
  return defined({
    ...same,
    infrastructureReady: infrastructureProvisioned === true,
    controlPlaneReady: controlPlaneInitialized === true,
    failureReason: old['failureReason'],
    failureMessage: old['failureMessage'],
    conditions: old['conditions'] ?? toOldConditions(conditions),
    v1beta2: orNothing(defined({ conditions, controlPlane, workers })),
  })
}

/** Conditions as v1beta1 calls them, for those it has. */
const OLD_TYPES: Readonly<Record<string, string>> = {
  Available: 'Ready',
  InfrastructureReady: 'InfrastructureReady',
  ControlPlaneInitialized: 'ControlPlaneInitialized',
  ControlPlaneAvailable: 'ControlPlaneReady',
}

function toOldConditions(conditions: unknown): unknown[] | undefined {
  if (!Array.isArray(conditions)) return undefined
  const old = conditions.map(fieldsOf).flatMap((condition) => {
    const type = OLD_TYPES[String(condition['type'])]
    if (type === undefined) return []
    const { status, reason, message, lastTransitionTime } = condition
    const why = status === 'True' ? {} : { severity: 'Info', reason, message }
    return [defined({ type, status, ...why, lastTransitionTime })]
  })
  return old.sort((a, b) => rank(a) - rank(b))
}

const rank = (condition: Fields): number => (condition['type'] === 'Ready' ? 0 : 1)

function statusToV1Beta2(status: Fields): Fields {
  const { infrastructureReady, controlPlaneReady, conditions, failureReason, failureMessage, v1beta2, ...same } = status
  const kept = fieldsOf(v1beta2)
  const initialization = defined({
    infrastructureProvisioned: infrastructureReady === true ? true : undefined,
    controlPlaneInitialized: controlPlaneReady === true ? true : undefined,
  })
  const isDerived = Array.isArray(kept['conditions'])
  const old = defined({ failureReason, failureMessage, conditions: isDerived ? undefined : conditions })
  return defined({
    ...same,
    initialization: orNothing(initialization),
    conditions: kept['conditions'],
    controlPlane: kept['controlPlane'],
    workers: kept['workers'],
    deprecated: orNothing(old) && { v1beta1: old },
  })
}
