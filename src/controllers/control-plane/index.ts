// The controller for CAPTControlPlane: the EKS control plane of a cluster, by the ControlPlane contract of Cluster API.

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
import type { Aws, ClusterDescriptions } from '#aws'
import type { Cache, Events, InformerOptions, Objects, Projected } from '#kube'
import { type Clock, jsonEqual, type Log, type Metrics, noMetrics, silentLog } from '#lib'
import type { Controller } from '#runtime'
import type { ClusterTeardown } from '../addon-delivery/teardown/cluster.ts'
import { isSameApply } from '../shared/apply.ts'
import { BY_CLUSTER, clusterValues } from '../shared/owner-cluster.ts'
import { isSameIn, ownersOf } from '../shared/wakes.ts'
import { actOnControlPlane, type Reach } from './act.ts'
import { createDescriptions } from './adopted/descriptions.ts'
import { createResultCache } from './cache.ts'
import { type Action, decide } from './decide.ts'
import type { VersionRules } from './decide-version.ts'
import { secretsByName, watchedSecrets } from './kubeconfig/known-secrets.ts'
import { kubeconfigRefresher } from './kubeconfig/refresher.ts'
import { toFacts } from './kubeconfig/secrets.ts'
import { FACTS_READ, type Observed, type OldestNode, observeControlPlane } from './observe.ts'
import { statusOf } from './status.ts'
import { networkOf } from './variables.ts'

interface CaptControlPlaneOptions extends VersionRules {
  /** Cluster in the version that the server serves. */
  readonly clusterKind: KindRef
  readonly aws: Aws & Partial<ClusterDescriptions>
  /** Used by the kubeconfig refresh, which runs on a timer. */
  readonly objects: Objects
  readonly events: Events
  readonly clock: Clock
  readonly log?: Log
  readonly metrics?: Metrics
  /** Tests whether an API server answers; without it, the endpoint counts as reachable. */
  readonly reach?: Reach
  /**
   * How changes of the Secrets by others are detected. By name: they are read again with each refresh, and `wake`
   * triggers a reconcile. Watched: an informer for them is registered with `clusterSecretInformer`.
   */
  readonly secrets: { readonly wake: (plane: Key) => void } | 'watched'
  /** The lowest kubelet version of a workload cluster: an upgrade must not leave nodes too far behind. */
  readonly oldestNode?: OldestNode
  /** Removes load balancers and nodes of a deleted Cluster that has no AddonDelivery. */
  readonly teardown?: ClusterTeardown
  /** Kinds that run nodes on the control plane; they are deleted before it. */
  readonly workerKinds?: readonly KindRef[]
}

interface CaptControlPlaneController extends Controller<CAPTControlPlane, Observed, Action> {
  /** Stops the kubeconfig timers; called when the manager stops or loses its leadership. */
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
  const recheck =
    secrets === 'watched'
      ? undefined
      : (plane: Key): void => {
          known.invalidate(plane)
          secrets.wake(plane)
        }
  const refresher = kubeconfigRefresher({ objects, events, clock, log, metrics, recheck })
  const results = createResultCache(clock, refresher)
  const descriptions = createDescriptions(clock)
  const toPlanes = (changed: Projected<AnyObject>, cache: Cache) =>
    clusterValues(changed).flatMap((value) => cache.list(CAPTControlPlane, { index: BY_CLUSTER, value }).map(keyOf))
  return {
    name: 'captcontrolplane',
    kind: CAPTControlPlane,
    defersStatus: () => true,
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
      observeControlPlane(
        world,
        { clusterKind, workerKinds, results, known, descriptions, oldestNode: options.oldestNode },
        object,
      ),
    decide: (observed) => decide(observed, options),
    act: (world, observed, action) =>
      actOnControlPlane(
        world,
        { aws, descriptions, reach, results, refresher, known, teardown: options.teardown },
        observed,
        action,
      ),
    status: statusOf,
    stop: () => refresher.stop(),
  }
}

/** Of the CAPTCluster only its network and its Cluster matter here. */
function isSameNetwork(now: AnyObject, before: AnyObject): boolean {
  const relevant = (object: AnyObject) => [clusterValues(object), networkOf(object as CAPTCluster, '')]
  return jsonEqual(relevant(now), relevant(before))
}
