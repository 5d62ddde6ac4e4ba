// What informers keep of each kind. Memory is a budget: of foreign kinds only the fields that some controller reads.
import type { AnyObject, KindRef } from '#api'
import { isPlainObject } from '#lib'

type Loose = AnyObject & { readonly spec?: unknown; readonly status?: unknown }

/** Undefined: everything but managedFields and last-applied is kept. */
export function projectionOf(kind: KindRef): ((object: AnyObject) => AnyObject) | undefined {
  if (kind.kind === 'Cluster') return projectCluster
  return undefined
}

function projectCluster(object: AnyObject): AnyObject {
  const { apiVersion, kind, metadata, spec, status } = object as Loose
  return {
    apiVersion,
    kind,
    metadata,
    spec: pick(spec, [
      'paused',
      'controlPlaneEndpoint',
      'infrastructureRef',
      'controlPlaneRef',
      'topology',
      'availabilityGates',
    ]),
    status: pick(status, [
      'initialization',
      'infrastructureReady',
      'controlPlaneReady',
      'conditions',
      'phase',
      'v1beta2',
      'observedGeneration',
    ]),
  } as AnyObject
}

function pick(value: unknown, names: readonly string[]): Record<string, unknown> {
  if (!isPlainObject(value)) return {}
  return Object.fromEntries(names.filter((name) => name in value).map((name) => [name, value[name]]))
}
