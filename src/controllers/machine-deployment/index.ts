// The controller for CAPTMachineDeployment: replaces machines step by step, through one CAPTMachineSet per template.
import { type AnyObject, CAPTMachine, CAPTMachineDeployment, CAPTMachineSet, type KindRef, keyOf, keyText } from '#api'
import type { Cache } from '#kube'
import type { Controller } from '#runtime'
import { isSameMachine, isSameSpec } from '../machine-set/facts.ts'
import { BY_CLUSTER, clusterValues } from '../shared/owner-cluster.ts'
import { isSameIn } from '../shared/wakes.ts'
import { actOnMachineDeployment } from './act.ts'
import { type Action, decide } from './decide.ts'
import { FACTS_READ, type Observed, observeMachineDeployment } from './observe.ts'
import { statusOf } from './status.ts'

export function captMachineDeploymentController({
  clusterKind,
}: {
  /** Cluster in the version that the server serves. */
  readonly clusterKind: KindRef
}): Controller<CAPTMachineDeployment, Observed, Action> {
  const deploymentsOf = (changed: AnyObject, cache: Cache) =>
    clusterValues(changed).flatMap((value) =>
      cache.list(CAPTMachineDeployment, { index: BY_CLUSTER, value }).map(keyOf),
    )
  return {
    name: 'captmachinedeployment',
    kind: CAPTMachineDeployment,
    defersStatus: () => true,
    wakes: [
      {
        kind: clusterKind,
        toKeys: (changed, cache) =>
          cache.list(CAPTMachineDeployment, { index: BY_CLUSTER, value: keyText(keyOf(changed)) }).map(keyOf),
        ignores: isSameIn(FACTS_READ),
      },
      { kind: CAPTMachineSet, toKeys: deploymentsOf, ignores: isSameSpec },
      { kind: CAPTMachine, toKeys: deploymentsOf, ignores: isSameMachine },
      // Two deployments that select the same machines both report it, and both go on when one is gone.
      { kind: CAPTMachineDeployment, toKeys: deploymentsOf, ignores: isSameSpec },
    ],
    indexes: [CAPTMachineDeployment, CAPTMachineSet, CAPTMachine].map((kind) => ({
      kind,
      name: BY_CLUSTER,
      values: clusterValues,
    })),
    observe: async ({ cache, clock }, object) => observeMachineDeployment(cache, clusterKind, object, clock.now()),
    decide,
    act: actOnMachineDeployment,
    status: statusOf,
  }
}
