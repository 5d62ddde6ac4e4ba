// What informers keep of each kind. Memory is a budget: of foreign kinds only the fields that some controller reads.
import { SOURCE_LABEL } from '#addons'
import { type AnyObject, ConfigMapKind, type KindRef } from '#api'
import type { InformerOptions } from '#kube'
import { isPlainObject } from '#lib'

type Loose = AnyObject & { readonly spec?: unknown; readonly status?: unknown }

/**
 * Everything but managedFields and last-applied is kept unless it says otherwise. Of ConfigMaps only the news that they
 * changed, and only of those that are labelled as sources; the embedded home stands in for core and watches all.
 */
export function informerOf(kind: KindRef, isHome: boolean): InformerOptions {
  if (kind.kind === 'Cluster') return { project: projectCluster }
  if (kind.kind === ConfigMapKind.kind)
    return isHome ? { project: projectNews } : { project: projectNews, labelSelector: SOURCE_LABEL }
  return {}
}

function projectNews({ apiVersion, kind, metadata }: AnyObject): AnyObject {
  const { name, namespace, uid, resourceVersion, labels } = metadata
  return { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion, labels } } as AnyObject
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
