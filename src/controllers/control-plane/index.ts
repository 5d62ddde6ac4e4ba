// The controller for CAPTControlPlane: the EKS control plane of a cluster, by the ControlPlane contract of Cluster API.
import {
  AddonDelivery,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  isExternallyManaged,
  type KindRef,
  keyOf,
  readCluster,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import type { Aws } from '#aws'
import type { Cache, Events, InformerOptions, Objects, Projected } from '#kube'
import { type Clock, type Log, type Metrics, noMetrics, silentLog } from '#lib'
import type { Controller } from '#runtime'
import { BY_CLUSTER } from '../cluster/observe.ts'
import { clusterValues, ownersOf } from '../cluster/wakes.ts'
import { actOnControlPlane, type Reach } from './act.ts'
import { type Action, decide } from './decide.ts'
import type { VersionRules } from './decide-version.ts'
import { kubeconfigKeeper } from './keeper.ts'
import { createMemory } from './memory.ts'
import { type Observed, observeControlPlane } from './observe.ts'
import { statusOf } from './status.ts'

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
  /** Kinds that run nodes on the control plane; they are deleted before it. */
  readonly workerKinds?: readonly KindRef[]
}

export interface CaptControlPlaneController extends Controller<CAPTControlPlane, Observed, Action> {
  /** Ends the kubeconfig timers; called when the manager stops or loses its leadership. */
  stop(): void
}

/** Secrets are watched for their metadata alone. */
export const clusterSecretInformer: InformerOptions = {
  labelSelector: CLUSTER_NAME_LABEL,
  project: (object) => {
    const { apiVersion, kind, metadata, type } = object as AnyObject & { readonly type?: string }
    return { apiVersion, kind, metadata, type } as AnyObject
  },
}

export function captControlPlaneController(options: CaptControlPlaneOptions): CaptControlPlaneController {
  const { clusterKind, aws, reach, workerKinds = [], log = silentLog, metrics = noMetrics } = options
  const { objects, events, clock } = options
  const keeper = kubeconfigKeeper({ objects, events, clock, log, metrics })
  const memory = createMemory(clock, keeper)
  const toPlanes = (changed: Projected<AnyObject>, cache: Cache) =>
    clusterValues(changed).flatMap((value) => cache.list(CAPTControlPlane, { index: BY_CLUSTER, value }).map(keyOf))
  return {
    name: 'captcontrolplane',
    kind: CAPTControlPlane,
    accepts: (object) => !isExternallyManaged(object),
    wakes: [
      {
        kind: clusterKind,
        toKeys: (changed) => {
          const { namespace, controlPlaneRef } = readCluster(changed)
          return controlPlaneRef?.kind === CAPTControlPlane.kind ? [{ namespace, name: controlPlaneRef.name }] : []
        },
      },
      { kind: CAPTCluster, toKeys: toPlanes },
      { kind: WorkspaceTemplateApply, toKeys: (changed) => ownersOf(changed, CAPTControlPlane.kind) },
      { kind: SecretKind, toKeys: (changed) => ownersOf(changed, CAPTControlPlane.kind) },
      { kind: AddonDelivery, toKeys: toPlanes },
      ...workerKinds.map((kind) => ({ kind, toKeys: toPlanes })),
    ],
    indexes: [CAPTControlPlane, AddonDelivery, ...workerKinds].map((kind) => ({
      kind,
      name: BY_CLUSTER,
      values: clusterValues,
    })),
    observe: async ({ cache }, object) =>
      observeControlPlane(cache, { clusterKind, workerKinds }, memory, object, clock.now()),
    decide: (seen) => decide(seen, options),
    act: (world, seen, action) => actOnControlPlane(world, { aws, reach, memory, keeper }, seen, action),
    status: statusOf,
    stop: () => keeper.stop(),
  }
}
