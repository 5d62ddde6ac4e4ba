// A Cluster in one API version from the other. The embedded home stores v1beta2 and serves both.
// What we keep true is in `fields`; fields that only one version has survive under status.deprecated and status.v1beta2,
// as core Cluster API keeps them.
import type { AnyObject, ClusterApiVersion } from '#api'
import { definedFields, fieldsOf } from '#lib'
import { convertObject, type Fields, refToV1Beta1, refToV1Beta2, someFields } from '../convert.ts'

export function convertCluster<T extends AnyObject>(object: T, toVersion: ClusterApiVersion): T {
  return convertObject(object, toVersion, {
    v1beta1: { spec: (spec) => specToV1Beta1(spec, object.metadata.namespace), status: statusToV1Beta1 },
    v1beta2: { spec: specToV1Beta2, status: statusToV1Beta2 },
  })
}

function specToV1Beta1(spec: Fields, namespace: string | undefined): Fields {
  const { infrastructureRef, controlPlaneRef, ...same } = spec
  return definedFields({
    ...same,
    infrastructureRef: refToV1Beta1(infrastructureRef, namespace),
    controlPlaneRef: refToV1Beta1(controlPlaneRef, namespace),
  })
}

function specToV1Beta2(spec: Fields): Fields {
  const { infrastructureRef, controlPlaneRef, controlPlaneEndpoint, ...same } = spec
  return definedFields({
    ...same,
    controlPlaneEndpoint: endpointToV1Beta2(controlPlaneEndpoint),
    infrastructureRef: refToV1Beta2(infrastructureRef),
    controlPlaneRef: refToV1Beta2(controlPlaneRef),
  })
}

/** v1beta1 writes both keys even when they mean nothing. */
function endpointToV1Beta2(endpoint: unknown): Fields | undefined {
  const { host, port } = fieldsOf(endpoint)
  return someFields({ host: host === '' ? undefined : host, port: port === 0 ? undefined : port })
}

function statusToV1Beta1(status: Fields): Fields {
  const { conditions, initialization, controlPlane, workers, deprecated, ...same } = status
  const old = fieldsOf(fieldsOf(deprecated)['v1beta1'])
  const { infrastructureProvisioned, controlPlaneInitialized } = fieldsOf(initialization)
  return definedFields({
    ...same,
    infrastructureReady: infrastructureProvisioned === true,
    controlPlaneReady: controlPlaneInitialized === true,
    failureReason: old['failureReason'],
    failureMessage: old['failureMessage'],
    conditions: old['conditions'] ?? toOldConditions(conditions),
    v1beta2: someFields({ conditions, controlPlane, workers }),
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
    return [definedFields({ type, status, ...why, lastTransitionTime })]
  })
  return old.sort((a, b) => rank(a) - rank(b))
}

const rank = (condition: Fields): number => (condition['type'] === 'Ready' ? 0 : 1)

function statusToV1Beta2(status: Fields): Fields {
  const { infrastructureReady, controlPlaneReady, conditions, failureReason, failureMessage, v1beta2, ...same } = status
  const kept = fieldsOf(v1beta2)
  const isDerived = Array.isArray(kept['conditions'])
  const old = someFields({ failureReason, failureMessage, conditions: isDerived ? undefined : conditions })
  return definedFields({
    ...same,
    initialization: someFields({
      infrastructureProvisioned: infrastructureReady === true ? true : undefined,
      controlPlaneInitialized: controlPlaneReady === true ? true : undefined,
    }),
    conditions: kept['conditions'],
    controlPlane: kept['controlPlane'],
    workers: kept['workers'],
    deprecated: old && { v1beta1: old },
  })
}
