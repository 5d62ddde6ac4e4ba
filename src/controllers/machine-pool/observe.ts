// Reads everything that a decision about a CAPTMachinePool needs: from caches, and the Nodes of its group from the workload
// cluster once the group is made.
import {
  AddonDelivery,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  type CAPTMachinePool,
  CLUSTER_NAME_LABEL,
  type KindRef,
  MACHINE_POOL_FINALIZER,
  type MachinePoolFacts,
  pauseOf,
  readCluster,
  readMachinePool,
  WorkspaceTemplateApply,
} from '#api'
import type { Projected } from '#kube'
import { findOwner, lifecycleOf } from '#runtime'
import { type Delivery, toDelivery } from '../control-plane/observe.ts'
import { eksVersion } from '../control-plane/version.ts'
import { type ApplyFacts, readApply } from '../shared/apply.ts'
import { locationOf } from '../shared/aws/location.ts'
import type { SpotRole, SpotRoles } from '../shared/aws/spot-role.ts'
import { usesAws } from '../shared/aws/uses-aws.ts'
import { BY_CLUSTER, referred } from '../shared/owner-cluster.ts'
import type { ClusterPart, NODE_FACTS } from '../shared/wakes.ts'
import type { NodePorts } from '../shared/workload.ts'
import { type GroupNodes, readGroupNodes } from './nodes.ts'
import { nodeGroupApplyName, nodeGroupName, type Place } from './variables.ts'

export interface Observed {
  readonly object: Projected<CAPTMachinePool>
  /** Absent until Cluster API has set the owner reference, and when the MachinePool is gone. */
  readonly machinePool: MachinePoolFacts | undefined
  readonly cluster: ClusterPart<typeof NODE_FACTS> | undefined
  /** Undefined when the control plane of the Cluster is of another kind, or not there. */
  readonly controlPlane: Projected<CAPTControlPlane> | undefined
  /** Undefined while the cluster has no name, region or network. */
  readonly place: Place | undefined
  /** Minor version that the control plane runs. */
  readonly runningVersion: string | undefined
  readonly apply: Projected<WorkspaceTemplateApply> | undefined
  readonly facts: ApplyFacts
  readonly nodes: GroupNodes
  /** Undefined where no Spot instances are asked for, and where nothing is made in AWS. */
  readonly spotRole: SpotRole | undefined
  readonly deliveries: readonly Delivery[]
  readonly nowMs: number
}

interface ObservePorts extends NodePorts {
  readonly machinePoolKind: KindRef
  readonly spotRoles: SpotRoles
}

export async function observeMachinePool(
  ports: ObservePorts,
  object: Projected<CAPTMachinePool>,
  nowMs: number,
): Promise<Observed> {
  const { cache } = ports
  const namespace = object.metadata.namespace ?? ''
  const machinePool = machinePoolOf(ports, object)
  const clusterName = machinePool?.clusterName ?? object.metadata.labels?.[CLUSTER_NAME_LABEL] ?? ''
  const found = cache.get(ports.clusterKind, { namespace, name: clusterName })
  const cluster = found && readCluster(found)
  const controlPlane = referred<CAPTControlPlane>(cache, CAPTControlPlane, namespace, cluster?.controlPlaneRef)
  const infra = referred<CAPTCluster>(cache, CAPTCluster, namespace, cluster?.infrastructureRef)
  const apply = cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, {
    namespace,
    name: nodeGroupApplyName(object),
  })
  const facts = readApply(apply)
  const place = placeOf(clusterName, controlPlane, infra, cluster?.annotations)
  const isActive = lifecycleOf(object, MACHINE_POOL_FINALIZER, pauseOf(cluster, object)) === 'active'
  const isMade = facts.revision !== undefined && !facts.deleting
  const { version } = controlPlane?.status ?? {}
  return {
    object,
    machinePool,
    cluster,
    controlPlane,
    place,
    runningVersion: version === undefined ? undefined : eksVersion(version),
    apply,
    facts,
    nodes:
      isActive && isMade
        ? await readGroupNodes(
            ports.workloads,
            { namespace, name: clusterName },
            groupNameOf(facts, object.metadata.name),
          )
        : { is: 'unread' },
    spotRole: place && spotRoleOf(ports, object, place),
    deliveries: cache
      .list<AddonDelivery>(AddonDelivery, { index: BY_CLUSTER, value: `${namespace}/${clusterName}` })
      .map(toDelivery),
    nowMs,
  }
}

/** The MachinePool that owns the object. One of the same name with another uid does not count. */
function machinePoolOf({ cache, machinePoolKind }: ObservePorts, object: AnyObject): MachinePoolFacts | undefined {
  const owner = findOwner(object, machinePoolKind)
  if (!owner) return undefined
  const found = cache.get(machinePoolKind, { namespace: object.metadata.namespace ?? '', name: owner.name })
  return found && found.metadata.uid === owner.uid ? readMachinePool(found) : undefined
}

function placeOf(
  cluster: string,
  controlPlane: CAPTControlPlane | undefined,
  infra: CAPTCluster | undefined,
  annotations: Readonly<Record<string, string>> | undefined,
): Place | undefined {
  const location = controlPlane && locationOf(controlPlane, infra, cluster, annotations)
  const { vpcId } = location ?? {}
  return location && vpcId !== undefined ? { ...location, cluster, vpcId } : undefined
}

export function groupNameOf({ outputs }: ApplyFacts, pool: string): string {
  const name = outputs['node_group_name']
  return typeof name === 'string' && name !== '' ? name : nodeGroupName(pool)
}

function spotRoleOf({ cache, spotRoles }: ObservePorts, object: CAPTMachinePool, place: Place): SpotRole | undefined {
  if (object.spec.capacityType !== 'SPOT') return undefined
  const namespace = object.metadata.namespace ?? ''
  if (usesAws(cache, object.spec.workspaceTemplateRef, namespace) !== true) return undefined
  return spotRoles.read({ namespace, region: place.region, identity: place.identity })
}
