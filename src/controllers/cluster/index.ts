// The controller for CAPTCluster: the network of a cluster, by the InfraCluster contract of Cluster API.
import {
  CAPTCluster,
  CAPTControlPlane,
  isExternallyManaged,
  type KindRef,
  keyOf,
  readCluster,
  WorkspaceTemplateApply,
} from '#api'
import { jsonEqual } from '#lib'
import type { Controller } from '#runtime'
import { actOnCluster } from './act.ts'
import { isSameApply } from './apply.ts'
import { type Action, decide } from './decide.ts'
import { BY_CLUSTER, FACTS_READ, type Observed, observeCluster } from './observe.ts'
import { statusOf } from './status.ts'
import { clusterValues, isSameIn, ownersOf } from './wakes.ts'

export interface CaptClusterOptions {
  /** Cluster in the version that the server serves. */
  readonly clusterKind: KindRef
}

export function captClusterController({ clusterKind }: CaptClusterOptions): Controller<CAPTCluster, Observed, Action> {
  return {
    name: 'captcluster',
    kind: CAPTCluster,
    reportsAtRest: () => true,
    accepts: (object) => !isExternallyManaged(object),
    wakes: [
      {
        kind: clusterKind,
        toKeys: (changed) => {
          const { namespace, infrastructureRef } = readCluster(changed)
          return infrastructureRef?.kind === CAPTCluster.kind ? [{ namespace, name: infrastructureRef.name }] : []
        },
        ignores: isSameIn(FACTS_READ),
      },
      {
        kind: WorkspaceTemplateApply,
        toKeys: (changed) => ownersOf(changed, CAPTCluster.kind),
        ignores: isSameApply,
      },
      {
        kind: CAPTControlPlane,
        toKeys: (changed, cache) =>
          clusterValues(changed).flatMap((value) => cache.list(CAPTCluster, { index: BY_CLUSTER, value }).map(keyOf)),
        // The network asks only which control planes there are.
        ignores: (now, before) => jsonEqual(clusterValues(now), clusterValues(before)),
      },
    ],
    indexes: [
      { kind: CAPTCluster, name: BY_CLUSTER, values: clusterValues },
      { kind: CAPTControlPlane, name: BY_CLUSTER, values: clusterValues },
    ],
    observe: async ({ cache, clock }, object) => observeCluster(cache, clusterKind, object, clock.now()),
    decide,
    act: actOnCluster,
    status: statusOf,
  }
}
