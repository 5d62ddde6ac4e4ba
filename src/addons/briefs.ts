// What is read of Clusters and deliveries when all of them are looked at: by a pipeline that chooses, by a source that
// changed. The whole objects are unpacked only for a turn of their own.
import { AddonDelivery, type AnyObject } from '#api'
import { isTrue } from '#runtime'

type Loose = AnyObject & { readonly spec?: { readonly paused?: boolean } }

export function briefCluster(object: AnyObject): AnyObject {
  const { apiVersion, kind, metadata, spec } = object as Loose
  const { name, namespace, uid, labels, deletionTimestamp } = metadata
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, labels, deletionTimestamp },
    spec: pausedOf(spec),
  } as AnyObject
}

const pausedOf = (spec: Loose['spec']) => (spec?.paused ? { paused: true } : {})

export function briefDelivery(object: AnyObject): AnyObject {
  const { metadata, spec } = object as AddonDelivery
  const { name, namespace, uid, deletionTimestamp } = metadata
  const { clusterName, pipelineRef } = spec
  const brief = {
    apiVersion: AddonDelivery.apiVersion,
    kind: AddonDelivery.kind,
    metadata: { name, namespace, uid, deletionTimestamp },
    spec: { clusterName, pipelineRef },
    status: isTrue(object, 'Ready') ? { conditions: [{ type: 'Ready', status: 'True' }] } : {},
  }
  return brief as unknown as AnyObject
}
