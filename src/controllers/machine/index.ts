// The controller for CAPTMachine: one EC2 instance, by the InfraMachine contract of Cluster API or on its own.
import {
  type AnyObject,
  CAPTCluster,
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
import { jsonEqual } from '#lib'
import type { Controller } from '#runtime'
import { isSameApply } from '../shared/apply.ts'
import { BY_CLUSTER, clusterValues } from '../shared/owner-cluster.ts'
import { isSameIn, NODE_FACTS, ownersOf } from '../shared/wakes.ts'
import type { Workloads } from '../shared/workload.ts'
import { actOnMachine } from './act.ts'
import { type Action, decide } from './decide.ts'
import { createDrainLog } from './drain.ts'
import { type Observed, observeMachine } from './observe.ts'
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
        ignores: isSameIn(NODE_FACTS),
      },
      {
        kind: WorkspaceTemplateApply,
        toKeys: (changed, cache) => [
          ...ownersOf(changed, CAPTMachine.kind),
          ...(ownersOf(changed, CAPTMachinePool.kind).length > 0 ? machinesLike(changed, cache) : []),
        ],
        ignores: isSameApply,
      },
      { kind: CAPTMachinePool, toKeys: machinesLike, ignores: isSameConsent },
      // Read to find the control plane, and of an adopted one its place; their Cluster reports when it answers.
      { kind: CAPTControlPlane, toKeys: () => [] },
      { kind: CAPTCluster, toKeys: () => [] },
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

/** Machines that are like a node group may wait for it, and take its labels. */
function machinesLike(changed: AnyObject, cache: Cache): readonly Key[] {
  return clusterValues(changed)
    .flatMap((value) => cache.list<CAPTMachine>(CAPTMachine, { index: BY_CLUSTER, value }))
    .filter(({ spec }) => spec.nodeGroupRef !== undefined)
    .map(keyOf)
}

/** A machine asks of a pool only whether it exists and allows its namespace. */
function isSameConsent(now: AnyObject, before: AnyObject): boolean {
  return jsonEqual(now.metadata.annotations, before.metadata.annotations)
}
