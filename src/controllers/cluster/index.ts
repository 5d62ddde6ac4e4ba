// The controller for CAPTCluster: the network of a cluster, by the InfraCluster contract of Cluster API.
import {
  CAPTCluster,
  CAPTControlPlane,
  isExternallyManaged,
  type KindRef,
  keyOf,
  readCluster,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { jsonEqual } from '#lib'
import type { Controller } from '#runtime'
import { isSameApply } from '../shared/apply.ts'
import { BY_CLUSTER, clusterValues } from '../shared/owner-cluster.ts'
import { isSameIn, ownersOf } from '../shared/wakes.ts'
import { actOnCluster } from './act.ts'
import { type Action, decide } from './decide.ts'
import { BY_NAME, type NamePorts, nameValues } from './name/observe.ts'
import { FACTS_READ, type Observed, observeCluster } from './observe.ts'
import { statusOf } from './status.ts'

interface CaptClusterOptions {
  /** Cluster in the version that the server serves. */
  readonly clusterKind: KindRef
  /** Asked once per cluster whether its name is taken; left out where every run is simulated. */
  readonly aws?: NamePorts['aws']
}

export function captClusterController({
  clusterKind,
  aws,
}: CaptClusterOptions): Controller<CAPTCluster, Observed, Action> {
  const accounts: NamePorts['accounts'] = new Map()
  return {
    name: 'captcluster',
    kind: CAPTCluster,
    defersStatus: () => true,
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
      // Read before a name is chosen; a template that comes later is found by the next look.
      ...(aws ? [{ kind: WorkspaceTemplate, toKeys: () => [] }] : []),
    ],
    indexes: [
      { kind: CAPTCluster, name: BY_NAME, values: (object) => nameValues(object as CAPTCluster) },
      { kind: CAPTCluster, name: BY_CLUSTER, values: clusterValues },
      { kind: CAPTControlPlane, name: BY_CLUSTER, values: clusterValues },
    ],
    observe: ({ objects, cache, clock }, object) =>
      observeCluster({ objects, cache, aws, accounts }, clusterKind, object, clock.now()),
    decide,
    act: async (world, observed, action) => {
      if (action.do === 'remove-finalizer') accounts.delete(observed.object.metadata.uid ?? '')
      await actOnCluster(world, observed, action)
    },
    status: statusOf,
  }
}
