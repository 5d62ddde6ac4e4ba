// What informers keep of each kind. Memory is a budget: of foreign kinds only the fields that some controller reads.

import { type AnyObject, CONTROL_PLANE_INITIALIZED, ConfigMapKind, hasTrueCondition, type KindRef } from '#api'
import type { InformerOptions } from '#kube'
import { isPlainObject } from '#lib'
import { SOURCE_LABEL } from '../addon-delivery/names.ts'

type Loose = AnyObject & { readonly spec?: unknown; readonly status?: unknown }

/**
 * Everything but managedFields and last-applied is kept unless it says otherwise. Of ConfigMaps only the news that they
 * changed, and only of those that are labelled as sources; of Clusters the facts, since core writes its conditions at
 * every step. The embedded home stands in for core: it watches all, and reads of Clusters what core reads.
 */
export function informerOf(kind: KindRef, isHome: boolean): InformerOptions {
  if (kind.kind === 'Cluster') return isHome ? { project: projectHomeCluster } : CLUSTER_FACTS
  if (kind.kind === 'MachinePool') return isHome ? {} : { project: projectMachinePool, ignoreUnchanged: true }
  if (kind.kind === ConfigMapKind.kind)
    return { project: projectNews, metadataOnly: true, ...(isHome ? {} : { labelSelector: SOURCE_LABEL }) }
  return {}
}

/** A watch of metadata alone calls every object PartialObjectMetadata. */
function projectNews({ metadata }: AnyObject): AnyObject {
  const { name, namespace, uid, resourceVersion, labels } = metadata
  const { kind } = ConfigMapKind
  return { apiVersion: 'v1', kind, metadata: { name, namespace, uid, resourceVersion, labels } } as AnyObject
}

const FACTS_OF_SPEC = ['paused', 'controlPlaneEndpoint', 'infrastructureRef', 'controlPlaneRef', 'topology']
const FACTS_OF_STATUS = ['initialization', 'infrastructureReady']
const CLUSTER_FACTS: InformerOptions = { project: projectCluster, ignoreUnchanged: true }

/** What `readCluster` reads, in every version: one of them reports the control plane by a condition. */
function projectCluster(object: AnyObject): AnyObject {
  const { apiVersion, kind, metadata, spec, status } = object as Loose
  const conditions = isPlainObject(status) ? status['conditions'] : undefined
  const initialized = hasTrueCondition(conditions, CONTROL_PLANE_INITIALIZED)
  return {
    apiVersion,
    kind,
    metadata,
    spec: pick(spec, FACTS_OF_SPEC),
    status: {
      ...pick(status, FACTS_OF_STATUS),
      ...(initialized ? { conditions: [{ type: CONTROL_PLANE_INITIALIZED, status: 'True' }] } : {}),
    },
  } as AnyObject
}

/** What `readMachinePool` reads: core writes its status at every step. */
function projectMachinePool(object: AnyObject): AnyObject {
  const { apiVersion, kind, metadata, spec } = object as Loose
  return { apiVersion, kind, metadata, spec: pick(spec, ['clusterName', 'replicas', 'template']) } as AnyObject
}

function projectHomeCluster(object: AnyObject): AnyObject {
  const { apiVersion, kind, metadata, spec, status } = object as Loose
  return {
    apiVersion,
    kind,
    metadata,
    spec: pick(spec, [...FACTS_OF_SPEC, 'availabilityGates']),
    status: pick(status, [
      ...FACTS_OF_STATUS,
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
