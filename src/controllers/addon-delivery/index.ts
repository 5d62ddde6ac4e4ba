// The delivery controller: delivers the stages of a pipeline to one Cluster in order, checks in the workload cluster
// that they work, and removes them before the control plane goes.
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
  keyText,
} from '#api'
import type { Cache } from '#kube'
import { jsonEqual } from '#lib'
import type { Controller, Wake } from '#runtime'
import { actDelivery } from './act.ts'
import { decideDelivery } from './decide.ts'
import { type Observer, observeDelivery } from './observe.ts'
import type { DeliveryAction, ObservedDelivery } from './observed.ts'
import type { DeliveryPorts } from './ports.ts'
import { FOREIGN_SETS_INDEX, foreignSetIndex } from './resource-set/foreign-sets.ts'
import { createPayloadCache } from './resource-set/payloads.ts'
import { createPresenceCache } from './resource-set/presence.ts'
import { usersOf } from './source-wakes.ts'
import { setClusterIndex } from './stages/observe/observe-stages.ts'
import { reportDelivery } from './status.ts'
import { summarizeDelivery } from './summaries.ts'
import { createWorkloadWatches } from './workload-watches.ts'

export const DELIVERY_CONTROLLER = 'addondelivery'

interface DeliveryController extends Controller<AddonDelivery, ObservedDelivery, DeliveryAction> {
  /** Closes the watches on workload clusters. */
  stop(): void
}

export function addonDeliveryController(ports: DeliveryPorts): DeliveryController {
  const observer: Observer = {
    ports,
    payloads: createPayloadCache(),
    presence: createPresenceCache(),
    watches: createWorkloadWatches(),
  }
  return {
    name: DELIVERY_CONTROLLER,
    kind: AddonDelivery,
    indexes: [
      { kind: AddonDelivery, name: 'cluster', values: (object) => [clusterIdOf(object as AddonDelivery)] },
      ...(ports.resourceSets
        ? [
            { kind: clusterResourceSetKind(ports.resourceSets), name: 'addon-cluster', values: setClusterIndex },
            { kind: clusterResourceSetKind(ports.resourceSets), name: FOREIGN_SETS_INDEX, values: foreignSetIndex },
          ]
        : []),
    ],
    wakes: wakesOf(ports),
    observe: (world, delivery) => observeDelivery(world, observer, delivery),
    decide: decideDelivery,
    act: (world, observed, action) => actDelivery(world, observer, observed, action),
    status: reportDelivery,
    stop: () => observer.watches.releaseAll(),
  }
}

/** Counts and waves in its status concern no delivery. */
function isSamePipeline(now: AnyObject, before: AnyObject): boolean {
  const partOf = ({ metadata, spec, status }: AddonPipeline) => [
    metadata.deletionTimestamp,
    metadata.annotations,
    spec,
    status?.revisions,
  ]
  return jsonEqual(partOf(now as AddonPipeline), partOf(before as AddonPipeline))
}

const clusterIdOf = (delivery: AddonDelivery) => `${delivery.metadata.namespace}/${delivery.spec.clusterName}`

function wakesOf(ports: DeliveryPorts): readonly Wake[] {
  const ofCluster = (cache: Cache, namespace: string | undefined, name: string): readonly Key[] =>
    cache.keys(AddonDelivery, { index: 'cluster', value: `${namespace}/${name}` })
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
      .summaries(AddonDelivery, summarizeDelivery)
      .filter(({ pipeline }) => pipeline === keyText(keyOf(object)))
      .map(({ namespace, name }) => ({ namespace, name }))
  const byForeign = (object: AnyObject, cache: Cache) =>
    foreignSetIndex(object).length === 0
      ? []
      : cache
          .summaries(AddonDelivery, summarizeDelivery)
          .filter(({ namespace }) => namespace === object.metadata.namespace)
          .map(({ namespace, name }) => ({ namespace, name }))
  const sets = ports.resourceSets
    ? [
        { kind: clusterResourceSetBindingKind(ports.resourceSets), toKeys: byName },
        {
          kind: clusterResourceSetKind(ports.resourceSets),
          toKeys: (object: AnyObject, cache: Cache) => [...byLabel(object, cache), ...byForeign(object, cache)],
        },
      ]
    : []
  return [
    { kind: clusterKind(ports.clusterApi), toKeys: byName },
    { kind: CAPTControlPlane, toKeys: byOwner },
    { kind: AddonPipeline, toKeys: byPipeline, ignores: isSamePipeline },
    { kind: ConfigMapKind, toKeys: usersOf },
    ...sets,
  ]
}
