// The controller for CAPTMachineSet: as many CAPTMachines as wanted, made from one template.
import { type AnyObject, CAPTMachine, CAPTMachineDeployment, CAPTMachineSet, type KindRef, keyOf, keyText } from '#api'
import type { Cache } from '#kube'
import type { Controller } from '#runtime'
import { BY_CLUSTER, clusterValues } from '../shared/owner-cluster.ts'
import { isSameIn } from '../shared/wakes.ts'
import { actOnMachineSet } from './act.ts'
import { type Action, decide } from './decide.ts'
import { isSameMachine, isSameSpec } from './facts.ts'
import { FACTS_READ, type Observed, observeMachineSet } from './observe.ts'
import { statusOf } from './status.ts'

export function captMachineSetController({
  clusterKind,
}: {
  /** Cluster in the version that the server serves. */
  readonly clusterKind: KindRef
}): Controller<CAPTMachineSet, Observed, Action> {
  // A machine may be adopted by a set, and what one set may remove depends on the machines of others.
  const setsOf = (changed: AnyObject, cache: Cache) =>
    clusterValues(changed).flatMap((value) => cache.list(CAPTMachineSet, { index: BY_CLUSTER, value }).map(keyOf))
  return {
    name: 'captmachineset',
    kind: CAPTMachineSet,
    defersStatus: () => true,
    wakes: [
      {
        kind: clusterKind,
        toKeys: (changed, cache) =>
          cache.list(CAPTMachineSet, { index: BY_CLUSTER, value: keyText(keyOf(changed)) }).map(keyOf),
        ignores: isSameIn(FACTS_READ),
      },
      { kind: CAPTMachine, toKeys: setsOf, ignores: isSameMachine },
      { kind: CAPTMachineDeployment, toKeys: setsOf, ignores: isSameSpec },
    ],
    indexes: [CAPTMachineSet, CAPTMachine].map((kind) => ({ kind, name: BY_CLUSTER, values: clusterValues })),
    observe: async ({ cache, clock }, object) => observeMachineSet(cache, clusterKind, object, clock.now()),
    decide,
    act: actOnMachineSet,
    status: statusOf,
  }
}
