// Reads everything that a decision about a CAPTControlPlane needs, from caches; its Secrets by name where they are not
// cached.

import {
  ADDONS_HEALTHY,
  AddonDelivery,
  CAPTCluster,
  type CAPTControlPlane,
  type Condition,
  conditionOf,
  findCondition,
  isAdopted,
  type Key,
  type KindRef,
  keyOf,
  type StageStatus,
  type UnknownObject,
  WorkspaceTemplateApply,
} from '#api'
import type { RunningComponent } from '#catalog'
import type { Projected } from '#kube'
import { hashOf } from '#lib'
import type { World } from '#runtime'
import { type ApplyFacts, type ApplyRequest, readApply } from '../shared/apply.ts'
import { BY_CLUSTER, clusterNameOf, ownerClusterOf, referred } from '../shared/owner-cluster.ts'
import type { ClusterPart } from '../shared/wakes.ts'
import type { Described, Descriptions } from './adopted/descriptions.ts'
import { factsOfAdopted } from './adopted/facts.ts'
import type { CachedResults, ResultCache } from './cache.ts'
import { isVersionChange } from './decide-version.ts'
import type { KnownSecrets, SecretsFacts } from './kubeconfig/known-secrets.ts'
import type { SecretFacts } from './kubeconfig/secrets.ts'
import { eksApplyName, eksRequest, identityOf, type Network, nameIn, networkOf, regionOf } from './variables.ts'

export interface Delivery {
  readonly name: string
  /** What it follows. */
  readonly pipeline: Key
  readonly tornDown: boolean
  /** Add-ons may be in the cluster. A delivery without a status counts: the status may have been lost. */
  readonly mayBeDelivered: boolean
  readonly message: string
  /** Flux and Karpenter as they run in the cluster. */
  readonly components: readonly ObservedComponent[]
  /** Whether its stages work; undefined while none is asked for. */
  readonly health?: Pick<Condition, 'status' | 'reason' | 'message'> | undefined
}

export interface ObservedComponent extends RunningComponent {
  /** Its stage is being delivered or checked: which version runs is not known yet. */
  readonly isMoving: boolean
}

export interface Worker {
  readonly kind: KindRef
  readonly name: string
  readonly uid: string
  readonly deleting: boolean
  /** Its owner deletes it, in order: a machine that goes before its set would be made again. */
  readonly owned: boolean
}

/** The facts of the Cluster that are observed; a change of any other does not trigger a reconcile. */
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
  /** Undefined while the region is unknown. */
  readonly request: ApplyRequest | undefined
  readonly apply: Projected<WorkspaceTemplateApply> | undefined
  readonly facts: ApplyFacts
  /** Of an adopted cluster: what EKS says. */
  readonly described?: Described | undefined
  /** Empty before the first run has ended. */
  readonly secrets: SecretsFacts
  /** The last of them, the one of Cluster API. */
  readonly kubeconfig: SecretFacts | undefined
  /** Hash of what the Secrets should be made from. */
  readonly source: string
  readonly deliveries: readonly Delivery[]
  readonly workers: readonly Worker[]
  readonly results: CachedResults
  /** The lowest kubelet version of the cluster; read only before an upgrade, undefined when it cannot be read. */
  readonly oldestNode: string | undefined
  readonly nowMs: number
}

interface ObservePorts {
  readonly clusterKind: KindRef
  /** Kinds that run nodes on the control plane and go before it. */
  readonly workerKinds: readonly KindRef[]
  readonly results: ResultCache
  readonly known: KnownSecrets
  readonly descriptions: Descriptions
  readonly oldestNode: OldestNode | undefined
}

/** Reads the workload cluster; undefined when it has no nodes. */
export type OldestNode = (cluster: Key) => Promise<string | undefined>

export async function observeControlPlane(
  { objects, cache, clock }: Pick<World, 'objects' | 'cache' | 'clock'>,
  { clusterKind, workerKinds, results, known, descriptions, oldestNode }: ObservePorts,
  object: Projected<CAPTControlPlane>,
): Promise<Observed> {
  const namespace = object.metadata.namespace ?? ''
  const clusterName = clusterNameOf(object)
  const cluster: Observed['cluster'] = ownerClusterOf(cache, clusterKind, object)
  const infra = referred<CAPTCluster>(cache, CAPTCluster, namespace, cluster?.infrastructureRef)
  const described = isAdopted(object) ? descriptions.read(keyOf(object)) : undefined
  const name = eksApplyName(object, clusterName)
  const apply = described ? undefined : cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name })
  const facts = described ? factsOfAdopted(object, described) : readApply(apply)
  const found = networkOf(infra, clusterName)
  // After a move, and before a CAPTCluster of an earlier version has its name recorded, the apply has it.
  const network =
    apply && found.clusterName === undefined ? { ...found, clusterName: nameIn(apply, clusterName) } : found
  const region = regionOf(object, network, cluster?.annotations)
  const value = `${namespace}/${clusterName}`
  const source = sourceOf(object, facts, region, network)
  const { secretsReady = false, initialization } = object.status ?? {}
  // Before they were first reported they are written without a read; a Secret that exists is found by the write.
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
    request: region === undefined || described ? undefined : eksRequest(object, clusterName, network, region, apply),
    apply,
    facts,
    described,
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
        owned: metadata.ownerReferences?.some(({ controller }) => controller === true) ?? false,
      })),
    ),
    results: results.read(keyOf(object), source, results.accountOf(namespace, region, identityOf(object, network))),
    oldestNode:
      !described && isVersionChange({ object, facts, apply })
        ? await oldestNode?.({ namespace, name: clusterName }).catch(() => undefined)
        : undefined,
    nowMs: clock.now(),
  }
}

/** Hash of everything the Secrets are made from: run, outputs, region, identity. */
function sourceOf(object: CAPTControlPlane, facts: ApplyFacts, region: string | undefined, network: Network): string {
  const { revision, appliedAt, outputs } = facts
  const identity = identityOf(object, network) ?? null
  return hashOf([object.metadata.uid, revision ?? null, appliedAt ?? null, outputs, region ?? null, identity]).slice(
    0,
    32,
  )
}

export function toDelivery(delivery: AddonDelivery): Delivery {
  const torn = findCondition(delivery.status?.conditions, 'TornDown')
  const { status } = delivery
  const hasStarted = status?.stages?.some((stage) => stage.startedAt !== undefined) ?? false
  const { name, namespace = delivery.metadata.namespace! } = delivery.spec.pipelineRef
  return {
    name: delivery.metadata.name,
    pipeline: { namespace, name },
    tornDown: torn?.status === 'True',
    mayBeDelivered: status?.conditions === undefined || hasStarted || (status.teardown?.steps?.length ?? 0) > 0,
    message: torn?.message ?? '',
    components: (status?.stages ?? []).flatMap(toComponent),
    health: conditionOf(delivery, ADDONS_HEALTHY),
  }
}

function toComponent({
  component,
  wantedVersion,
  adopted,
  startedAt,
  state,
}: StageStatus): readonly ObservedComponent[] {
  const version = adopted ?? wantedVersion
  if (!component || version === undefined || (startedAt === undefined && adopted === undefined)) return []
  const isMoving = state === 'Delivering' || state === 'Checking'
  return [{ component, version, isForeign: adopted !== undefined, isMoving }]
}
