// The controller for CAPTMachinePool: an EKS managed node group, by the InfraMachinePool contract of Cluster API.
import {
  AddonDelivery,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  CAPTMachinePool,
  isExternallyManaged,
  type KindRef,
  keyOf,
  keyText,
  readMachinePool,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import type { Aws } from '#aws'
import type { Cache, Projected } from '#kube'
import { type Clock, jsonEqual } from '#lib'
import type { Controller } from '#runtime'
import { isSameApply } from '../shared/apply.ts'
import { spotRoles } from '../shared/aws/spot-role.ts'
import { BY_CLUSTER, clusterValues } from '../shared/owner-cluster.ts'
import { isSameIn, NODE_FACTS, ownersOf } from '../shared/wakes.ts'
import type { Workloads } from '../shared/workload.ts'
import { actOnMachinePool } from './act.ts'
import { type Action, decide } from './decide.ts'
import { type Observed, observeMachinePool } from './observe.ts'
import { statusOf } from './status.ts'

interface MachinePoolOptions {
  /** Cluster and MachinePool in the version that the server serves. */
  readonly clusterKind: KindRef
  readonly machinePoolKind: KindRef
  readonly workloads: Workloads
  readonly aws: Pick<Aws, 'ensureSpotRole'>
  readonly clock: Clock
}

export function captMachinePoolController(options: MachinePoolOptions): Controller<CAPTMachinePool, Observed, Action> {
  const { clusterKind, machinePoolKind, workloads, aws, clock } = options
  const roles = spotRoles(aws, clock)
  const ofCluster = (value: string, cache: Cache) => cache.keys(CAPTMachinePool, { index: BY_CLUSTER, value })
  const toPools = (changed: Projected<AnyObject>, cache: Cache) =>
    clusterValues(changed).flatMap((value) => ofCluster(value, cache))
  return {
    name: 'captmachinepool',
    kind: CAPTMachinePool,
    defersStatus: () => true,
    accepts: (object) => !isExternallyManaged(object),
    wakes: [
      {
        kind: machinePoolKind,
        toKeys: (changed) => {
          const { namespace, infrastructureRef } = readMachinePool(changed)
          return infrastructureRef?.kind === CAPTMachinePool.kind ? [{ namespace, name: infrastructureRef.name }] : []
        },
        ignores: (now, before) => jsonEqual(readMachinePool(now), readMachinePool(before)),
      },
      {
        kind: clusterKind,
        toKeys: (changed, cache) => ofCluster(keyText(keyOf(changed)), cache),
        ignores: isSameIn(NODE_FACTS),
      },
      { kind: CAPTCluster, toKeys: toPools, ignores: isSameNetwork },
      { kind: CAPTControlPlane, toKeys: toPools, ignores: isSamePlane },
      {
        kind: WorkspaceTemplateApply,
        toKeys: (changed) => ownersOf(changed, CAPTMachinePool.kind),
        ignores: isSameApply,
      },
      { kind: AddonDelivery, toKeys: toPools, ignores: isSameTeardown },
      // Read before Spot instances are asked for.
      { kind: WorkspaceTemplate, toKeys: () => [] },
    ],
    indexes: [CAPTMachinePool, AddonDelivery].map((kind) => ({ kind, name: BY_CLUSTER, values: clusterValues })),
    observe: ({ cache }, object) =>
      observeMachinePool({ cache, clusterKind, machinePoolKind, workloads, spotRoles: roles }, object, clock.now()),
    decide,
    act: (world, observed, action) => actOnMachinePool(world, { machinePoolKind, spotRoles: roles }, observed, action),
    status: statusOf,
  }
}

function isSameNetwork(now: AnyObject, before: AnyObject): boolean {
  const relevant = ({ spec, status }: CAPTCluster) => [spec, status?.clusterName, status?.vpcId, status?.privateSubnets]
  return jsonEqual(relevant(now as CAPTCluster), relevant(before as CAPTCluster))
}

function isSamePlane(now: AnyObject, before: AnyObject): boolean {
  const relevant = ({ spec, status }: CAPTControlPlane) => [spec, status?.version, status?.workspaceStatus?.atProvider]
  return jsonEqual(relevant(now as CAPTControlPlane), relevant(before as CAPTControlPlane))
}

/** Only the end of a teardown matters here. */
function isSameTeardown(now: AnyObject, before: AnyObject): boolean {
  const relevant = ({ status }: AddonDelivery) => status?.conditions?.find(({ type }) => type === 'TornDown') ?? null
  return jsonEqual(relevant(now as AddonDelivery), relevant(before as AddonDelivery))
}
