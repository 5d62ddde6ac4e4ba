// The controller for CAPTMachine: one EC2 instance, by the InfraMachine contract of Cluster API or on its own.
import {
  type AnyObject,
  CAPTControlPlane,
  CAPTMachine,
  CAPTMachinePool,
  isExternallyManaged,
  type Key,
  type KindRef,
  keyOf,
  keyText,
  WorkspaceTemplateApply,
} from '#api'
import type { Cache } from '#kube'
import type { Controller } from '#runtime'
import { isSameApply } from '../shared/apply.ts'
import { BY_CLUSTER, clusterValues } from '../shared/owner-cluster.ts'
import { isSameIn, ownersOf } from '../shared/wakes.ts'
import type { Workloads } from '../shared/workload.ts'
import { actOnMachine } from './act.ts'
import { type Action, decide } from './decide.ts'
import { createDrainLog } from './drain.ts'
import { FACTS_READ, type Observed, observeMachine } from './observe.ts'
import { statusOf } from './status.ts'

interface CaptMachineOptions {
  /** Cluster and Machine in the version that the server serves. */
  readonly clusterKind: KindRef
  readonly machineKind: KindRef
  readonly workloads: Workloads
}

export function captMachineController(options: CaptMachineOptions): Controller<CAPTMachine, Observed, Action> {
  const { clusterKind, workloads } = options
  const drains = createDrainLog()
  return {
    name: 'captmachine',
    kind: CAPTMachine,
    defersStatus: () => true,
    accepts: (object) => !isExternallyManaged(object),
    wakes: [
      {
        kind: clusterKind,
        toKeys: (changed, cache) =>
          cache.list(CAPTMachine, { index: BY_CLUSTER, value: keyText(keyOf(changed)) }).map(keyOf),
        ignores: isSameIn(FACTS_READ),
      },
      {
        kind: WorkspaceTemplateApply,
        toKeys: (changed, cache) => [...ownersOf(changed, CAPTMachine.kind), ...waitingForPool(changed, cache)],
        ignores: isSameApply,
      },
      // Read to find the run of the control plane; its Cluster reports when that is over.
      { kind: CAPTControlPlane, toKeys: () => [] },
    ],
    indexes: [
      { kind: CAPTMachine, name: BY_CLUSTER, values: clusterValues },
      { kind: CAPTControlPlane, name: BY_CLUSTER, values: clusterValues },
    ],
    observe: ({ objects, cache, clock }, object) =>
      observeMachine({ ...options, objects, cache, drains }, object, clock.now()),
    decide,
    act: (world, observed, action) => actOnMachine(world, { workloads, drains }, observed, action),
    status: statusOf,
  }
}

/** Machines that have no instance yet may wait for the node group that the run of a pool makes. */
function waitingForPool(changed: AnyObject, cache: Cache): readonly Key[] {
  if (ownersOf(changed, CAPTMachinePool.kind).length === 0) return []
  return clusterValues(changed)
    .flatMap((value) => cache.list<CAPTMachine>(CAPTMachine, { index: BY_CLUSTER, value }))
    .filter(({ spec }) => spec.providerID === undefined)
    .map(keyOf)
}
