// The controller for CAPTControlPlane: the EKS control plane of a cluster, by the ControlPlane contract of Cluster API.

import type { ClusterTeardown } from '#addons'
import {
  AddonDelivery,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  isExternallyManaged,
  type Key,
  type KindRef,
  keyOf,
  readCluster,
  type Secret,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import type { Aws } from '#aws'
import type { Cache, Events, InformerOptions, Objects, Projected } from '#kube'
import { type Clock, jsonEqual, type Log, type Metrics, noMetrics, silentLog } from '#lib'
import type { Controller } from '#runtime'
import { isSameApply } from '../cluster/apply.ts'
import { BY_CLUSTER } from '../cluster/observe.ts'
import { clusterValues, isSameIn, ownersOf } from '../cluster/wakes.ts'
import { actOnControlPlane, type Reach } from './act.ts'
import { type Action, decide } from './decide.ts'
import type { VersionRules } from './decide-version.ts'
import { kubeconfigKeeper } from './keeper.ts'
import { secretsByName, toFacts, watchedSecrets } from './known-secrets.ts'
import { createMemory } from './memory.ts'
import { FACTS_READ, type Observed, type OldestNode, observeControlPlane } from './observe.ts'
import { statusOf } from './status.ts'
import { networkOf } from './variables.ts'

export interface CaptControlPlaneOptions extends VersionRules {
  /** Cluster in the version that the server serves. */
  readonly clusterKind: KindRef
  readonly aws: Aws
  /** What the kubeconfig refresh, which no event wakes, writes through. */
  readonly objects: Objects
  readonly events: Events
  readonly clock: Clock
  readonly log?: Log
  readonly metrics?: Metrics
  /** Asks an API server whether it answers; without it, the endpoint is believed. */
  readonly reach?: Reach
  /**
   * How changes of the Secrets by other hands are noticed. By name: they are read again with each refresh, and `wake` has
   * the control plane look. Watched: an informer for them is registered with `clusterSecretInformer`.
   */
  readonly secrets: { readonly wake: (plane: Key) => void } | 'watched'
  /** The lowest kubelet version of a workload cluster: an upgrade must not leave nodes too far behind. */
  readonly oldestNode?: OldestNode
  /** Removes load balancers and nodes of a deleted Cluster that has no AddonDelivery. */
  readonly teardown?: ClusterTeardown
  /** Kinds that run nodes on the control plane; they are deleted before it. */
  readonly workerKinds?: readonly KindRef[]
}

export interface CaptControlPlaneController extends Controller<CAPTControlPlane, Observed, Action> {
  /** Ends the kubeconfig timers; called when the manager stops or loses its leadership. */
  stop(): void
}

/** For where Secrets may be watched: in one namespace, or in the embedded home. Their data is not kept. */
export const clusterSecretInformer: InformerOptions = {
  labelSelector: CLUSTER_NAME_LABEL,
  project: (object) => {
    const { apiVersion, kind } = object
    return { apiVersion, kind, ...toFacts(object as Secret) } as AnyObject
  },
}

export function captControlPlaneController(options: CaptControlPlaneOptions): CaptControlPlaneController {
  const { clusterKind, aws, reach, workerKinds = [], log = silentLog, metrics = noMetrics } = options
  const { objects, events, clock } = options
  const { secrets } = options
  const known = secrets === 'watched' ? watchedSecrets() : secretsByName()
  const lookAgain =
    secrets === 'watched'
      ? undefined
      : (plane: Key): void => {
          known.doubt(plane)
          secrets.wake(plane)
        }
  const keeper = kubeconfigKeeper({ objects, events, clock, log, metrics, lookAgain })
  const memory = createMemory(clock, keeper)
  const toPlanes = (changed: Projected<AnyObject>, cache: Cache) =>
    clusterValues(changed).flatMap((value) => cache.list(CAPTControlPlane, { index: BY_CLUSTER, value }).map(keyOf))
  return {
    name: 'captcontrolplane',
    kind: CAPTControlPlane,
    reportsAtRest: () => true,
    accepts: (object) => !isExternallyManaged(object),
    wakes: [
      {
        kind: clusterKind,
        toKeys: (changed) => {
          const { namespace, controlPlaneRef } = readCluster(changed)
          return controlPlaneRef?.kind === CAPTControlPlane.kind ? [{ namespace, name: controlPlaneRef.name }] : []
        },
        ignores: isSameIn(FACTS_READ),
      },
      { kind: CAPTCluster, toKeys: toPlanes, ignores: isSameNetwork },
      {
        kind: WorkspaceTemplateApply,
        toKeys: (changed) => ownersOf(changed, CAPTControlPlane.kind),
        ignores: isSameApply,
      },
      ...(secrets === 'watched'
        ? [{ kind: SecretKind, toKeys: (changed: AnyObject) => ownersOf(changed, CAPTControlPlane.kind) }]
        : []),
      { kind: AddonDelivery, toKeys: toPlanes },
      ...workerKinds.map((kind) => ({ kind, toKeys: toPlanes })),
    ],
    indexes: [CAPTControlPlane, AddonDelivery, ...workerKinds].map((kind) => ({
      kind,
      name: BY_CLUSTER,
      values: clusterValues,
    })),
    observe: (world, object) =>
      observeControlPlane(world, { clusterKind, workerKinds, memory, known, oldestNode: options.oldestNode }, object),
    decide: (seen) => decide(seen, options),
    act: (world, seen, action) =>
      actOnControlPlane(world, { aws, reach, memory, keeper, known, teardown: options.teardown }, seen, action),
    status: statusOf,
    stop: () => keeper.stop(),
  }
}

/** Of the CAPTCluster only the network and where it is matter here. */
function isSameNetwork(now: AnyObject, before: AnyObject): boolean {
  const told = (object: AnyObject) => [clusterValues(object), networkOf(object as CAPTCluster, '')]
  return jsonEqual(told(now), told(before))
}
