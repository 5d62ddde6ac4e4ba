// Reads all that a decision about a CAPTControlPlane needs, from caches and memory; its Secrets by name, when nothing is
// remembered of them.
import {
  AddonDelivery,
  CAPTCluster,
  type CAPTControlPlane,
  findCondition,
  type Key,
  type KindRef,
  keyOf,
  type UnknownObject,
  WorkspaceTemplateApply,
} from '#api'
import type { Cache, Projected } from '#kube'
import { hashOf } from '#lib'
import type { World } from '#runtime'
import { type ApplyFacts, type ApplyRequest, readApply } from '../cluster/apply.ts'
import { BY_CLUSTER, clusterNameOf, ownerClusterOf } from '../cluster/observe.ts'
import type { ClusterPart } from '../cluster/wakes.ts'
import { isNewWish } from './decide-version.ts'
import type { KnownSecrets, SecretFacts, SecretsFacts } from './known-secrets.ts'
import type { Memory, Recollection } from './memory.ts'
import { eksApplyName, eksRequest, identityOf, type Network, networkOf, regionOf } from './variables.ts'

export interface Delivery {
  readonly name: string
  readonly tornDown: boolean
  /** Add-ons may be in the cluster. A delivery that has never reported counts: its status may have been lost. */
  readonly mayBeDelivered: boolean
  readonly message: string
}

export interface Worker {
  readonly kind: KindRef
  readonly name: string
  readonly uid: string
  readonly deleting: boolean
}

/** Of the Cluster: the type of what is observed knows no other, and no other wakes the control plane. */
export const FACTS_READ = [
  'uid',
  'paused',
  'deleting',
  'infrastructureProvisioned',
  'infrastructureRef',
  'controlPlaneRef',
  // For the region.
  'annotations',
] as const

export interface Observed {
  readonly object: Projected<CAPTControlPlane>
  readonly cluster: ClusterPart<typeof FACTS_READ> | undefined
  readonly clusterName: string
  /** Undefined when the Cluster's infrastructure is of another kind, or not there. */
  readonly infra: Projected<CAPTCluster> | undefined
  readonly network: Network
  readonly region: string | undefined
  /** Undefined as long as the region is unknown. */
  readonly request: ApplyRequest | undefined
  readonly apply: Projected<WorkspaceTemplateApply> | undefined
  readonly facts: ApplyFacts
  /** Empty before the first run has ended: nobody needs them then. */
  readonly secrets: SecretsFacts
  /** The last of them, the one of Cluster API. */
  readonly kubeconfig: SecretFacts | undefined
  /** Hash of what the Secrets should be made from. */
  readonly source: string
  readonly deliveries: readonly Delivery[]
  readonly workers: readonly Worker[]
  readonly memory: Recollection
  /** The lowest kubelet version of the cluster; read only before an upgrade, and unknown when nobody can tell. */
  readonly oldestNode: string | undefined
  readonly nowMs: number
}

export interface ObservePorts {
  readonly clusterKind: KindRef
  /** Kinds that run nodes on the control plane and go before it. */
  readonly workerKinds: readonly KindRef[]
  readonly memory: Memory
  readonly known: KnownSecrets
  readonly oldestNode: OldestNode | undefined
}

/** Asks the workload cluster; undefined when it has no nodes. */
export type OldestNode = (cluster: Key) => Promise<string | undefined>

export async function observeControlPlane(
  { objects, cache, clock }: Pick<World, 'objects' | 'cache' | 'clock'>,
  { clusterKind, workerKinds, memory, known, oldestNode }: ObservePorts,
  object: Projected<CAPTControlPlane>,
): Promise<Observed> {
  const namespace = object.metadata.namespace ?? ''
  const clusterName = clusterNameOf(object)
  const cluster: Observed['cluster'] = ownerClusterOf(cache, clusterKind, object)
  const infra = infraOf(cache, cluster)
  const network = networkOf(infra, clusterName)
  const region = regionOf(object, network, cluster?.annotations)
  const apply = cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, {
    namespace,
    name: eksApplyName(object, clusterName),
  })
  const facts = readApply(apply)
  const value = `${namespace}/${clusterName}`
  const source = sourceOf(object, facts, region, network)
  const { secretsReady = false, initialization } = object.status ?? {}
  // Until somebody was told of them they are written without a look; one that is there after all is found by that.
  const isNew = !secretsReady && initialization?.controlPlaneInitialized !== true
  const isMade = facts.revision !== undefined || secretsReady
  const secrets = isMade ? await known.of({ objects, cache }, keyOf(object), clusterName, isNew) : []
  return {
    object,
    cluster,
    clusterName,
    infra,
    network,
    region,
    request: region === undefined ? undefined : eksRequest(object, clusterName, network, region),
    apply,
    facts,
    secrets,
    kubeconfig: secrets.at(-1),
    source,
    deliveries: cache.list<AddonDelivery>(AddonDelivery, { index: BY_CLUSTER, value }).map(toDelivery),
    workers: workerKinds.flatMap((kind) =>
      cache.list<UnknownObject>(kind, { index: BY_CLUSTER, value }).map(({ metadata }) => ({
        kind,
        name: metadata.name,
        uid: metadata.uid ?? '',
        deleting: metadata.deletionTimestamp !== undefined,
      })),
    ),
    memory: memory.recall(keyOf(object), source, memory.accountOf(namespace, region, identityOf(object, network))),
    oldestNode: isNewWish({ object, facts, apply })
      ? await oldestNode?.({ namespace, name: clusterName }).catch(() => undefined)
      : undefined,
    nowMs: clock.now(),
  }
}

function infraOf(cache: Cache, cluster: Observed['cluster']): Projected<CAPTCluster> | undefined {
  const ref = cluster?.infrastructureRef
  if (ref?.kind !== CAPTCluster.kind || ref.group !== CAPTCluster.group) return undefined
  return cache.get<CAPTCluster>(CAPTCluster, { namespace: cluster!.namespace, name: ref.name })
}

/** Everything that the Secrets are made from and that may change: a new run, another region, another identity. */
function sourceOf(object: CAPTControlPlane, facts: ApplyFacts, region: string | undefined, network: Network): string {
  const { revision, appliedAt, outputs } = facts
  const identity = identityOf(object, network) ?? null
  return hashOf([object.metadata.uid, revision ?? null, appliedAt ?? null, outputs, region ?? null, identity]).slice(
    0,
    32,
  )
}

function toDelivery(delivery: AddonDelivery): Delivery {
  const torn = findCondition(delivery.status?.conditions, 'TornDown')
  const { status } = delivery
  const hasStarted = status?.stages?.some((stage) => stage.startedAt !== undefined) ?? false
  return {
    name: delivery.metadata.name,
    tornDown: torn?.status === 'True',
    mayBeDelivered: status?.conditions === undefined || hasStarted || (status.teardown?.steps?.length ?? 0) > 0,
    message: torn?.message ?? '',
  }
}
