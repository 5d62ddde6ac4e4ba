// The delivery controller: brings the stages of a pipeline to one Cluster in order, sees with its own eyes that they
// work, and takes them away before the control plane goes.
import {
  AddonDelivery,
  AddonPipeline,
  type AnyObject,
  CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  ConfigMapKind,
  clusterKeyOf,
  clusterKind,
  clusterResourceSetBindingKind,
  clusterResourceSetKind,
  type Key,
  keyOf,
} from '#api'
import type { Cache } from '#kube'
import type { Controller, Wake } from '#runtime'
import { actDelivery } from './act-delivery.ts'
import { briefDelivery } from './briefs.ts'
import { createCarrierMemory } from './carriers.ts'
import { decideDelivery } from './decide-delivery.ts'
import type { DeliveryPorts } from './delivery-ports.ts'
import type { DeliveryAction, DeliverySeen } from './delivery-seen.ts'
import { reportDelivery } from './delivery-status.ts'
import { type Observer, observeDelivery } from './observe-delivery.ts'
import { setClusterIndex } from './observe-stages.ts'
import { createPresenceMemory } from './presence.ts'
import { usersOf } from './source-wakes.ts'
import { createWorkloadWatches } from './workload-watches.ts'

export const DELIVERY_CONTROLLER = 'addondelivery'

export interface DeliveryController extends Controller<AddonDelivery, DeliverySeen, DeliveryAction> {
  /** Closes the watches on workload clusters. */
  stop(): void
}

export function addonDeliveryController(ports: DeliveryPorts): DeliveryController {
  const observer: Observer = {
    ports,
    carriers: createCarrierMemory(),
    presence: createPresenceMemory(),
    watches: createWorkloadWatches(ports.maxWatches),
  }
  return {
    name: DELIVERY_CONTROLLER,
    kind: AddonDelivery,
    indexes: [
      { kind: AddonDelivery, name: 'cluster', values: (object) => [clusterIdOf(object as AddonDelivery)] },
      ...(ports.resourceSets
        ? [{ kind: clusterResourceSetKind(ports.resourceSets), name: 'addon-cluster', values: setClusterIndex }]
        : []),
    ],
    briefs: [{ kind: AddonDelivery, brief: briefDelivery }],
    wakes: wakesOf(ports),
    observe: (world, delivery) => observeDelivery(world, observer, delivery),
    decide: decideDelivery,
    act: (world, seen, action) => actDelivery(world, observer, seen, action),
    status: reportDelivery,
    stop: () => observer.watches.releaseAll(),
  }
}

const clusterIdOf = (delivery: AddonDelivery) => `${delivery.metadata.namespace}/${delivery.spec.clusterName}`

function wakesOf(ports: DeliveryPorts): readonly Wake[] {
  const ofCluster = (cache: Cache, namespace: string | undefined, name: string): readonly Key[] =>
    cache
      .list<AddonDelivery>(AddonDelivery, { index: 'cluster', value: `${namespace}/${name}`, brief: true })
      .map(keyOf)
  const byName = (object: AnyObject, cache: Cache) => ofCluster(cache, object.metadata.namespace, object.metadata.name)
  const byLabel = (object: AnyObject, cache: Cache) => {
    const name = object.metadata.labels?.[CLUSTER_NAME_LABEL]
    return name ? ofCluster(cache, object.metadata.namespace, name) : []
  }
  const byOwner = (object: AnyObject, cache: Cache) => {
    const key = clusterKeyOf(object)
    return key ? ofCluster(cache, key.namespace, key.name) : []
  }
  const byPipeline = (object: AnyObject, cache: Cache) =>
    cache
      .list<AddonDelivery>(AddonDelivery, { brief: true })
      .filter(({ spec, metadata }) => {
        const namespace = spec.pipelineRef.namespace ?? metadata.namespace
        return spec.pipelineRef.name === object.metadata.name && namespace === object.metadata.namespace
      })
      .map(keyOf)
  const sets = ports.resourceSets
    ? [
        { kind: clusterResourceSetBindingKind(ports.resourceSets), toKeys: byName },
        { kind: clusterResourceSetKind(ports.resourceSets), toKeys: byLabel },
      ]
    : []
  return [
    { kind: clusterKind(ports.clusterApi), toKeys: byName },
    { kind: CAPTControlPlane, toKeys: byOwner },
    { kind: AddonPipeline, toKeys: byPipeline },
    { kind: ConfigMapKind, toKeys: usersOf },
    ...sets,
  ]
}
