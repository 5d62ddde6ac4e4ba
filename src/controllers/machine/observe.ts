// Reads everything that a decision about a CAPTMachine needs: from caches, its core Machine and its Node by name.
import {
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  type CAPTMachine,
  CLUSTER_GROUP,
  isAdopted,
  type Key,
  type KindRef,
  keyOf,
  type OwnerReference,
  WorkspaceTemplateApply,
} from '#api'
import { type Cache, isKubeError, type Objects, type Projected } from '#kube'
import { isPlainObject } from '#lib'
import { findOwner } from '#runtime'
import { eksApplyName } from '../control-plane/variables.ts'
import { eksVersion } from '../control-plane/version.ts'
import { type ApplyFacts, type ApplyRequest, readApply } from '../shared/apply.ts'
import { locationOf } from '../shared/aws/location.ts'
import { BY_CLUSTER, namedCluster, referred } from '../shared/owner-cluster.ts'
import type { ClusterPart, NODE_FACTS } from '../shared/wakes.ts'
import type { NodePorts } from '../shared/workload.ts'
import type { DrainLog, DrainNote } from './drain.ts'
import { type Instance, toInstance } from './instance.ts'
import { type NodeState, readNode } from './node.ts'
import { type NodeGroup, nodeGroupOf } from './node-group.ts'
import {
  homeOf,
  homeOfAdopted,
  machineApplyName,
  machineRequest,
  type Placement,
  userDataSecretName,
} from './variables.ts'

/** Core sets it on what it makes from a template. */
const CLONED_ANNOTATION = 'cluster.x-k8s.io/cloned-from-name'

/** What the core Machine asks for. */
interface CoreMachine {
  readonly name: string
  /** Undefined until the bootstrap provider has made it. */
  readonly dataSecret: string | undefined
  readonly zone: string | undefined
  readonly version: string | undefined
}

export interface Observed {
  readonly object: Projected<CAPTMachine>
  /** Name of the Cluster; undefined when nothing names one. */
  readonly clusterName: string | undefined
  readonly cluster: (ClusterPart<typeof NODE_FACTS> & { readonly object: AnyObject }) | undefined
  /** Core makes, drains and deletes it. */
  readonly isUnderMachine: boolean
  /** Undefined without a core Machine, and once the instance was asked for. */
  readonly machine: CoreMachine | undefined
  readonly hasHome: boolean
  /** Minor version that the control plane runs. */
  readonly runningVersion: string | undefined
  readonly nodeGroup: NodeGroup
  /** Undefined while something that it needs is missing. */
  readonly request: ApplyRequest | undefined
  readonly apply: Projected<WorkspaceTemplateApply> | undefined
  readonly facts: ApplyFacts
  /** The instance as the last run left it. */
  readonly instance: Instance | undefined
  readonly node: NodeState
  readonly drain: DrainNote | undefined
  readonly nowMs: number
}

interface ObservePorts extends NodePorts {
  readonly objects: Objects
  readonly drains: DrainLog
  readonly machineKind: KindRef
}

export async function observeMachine(
  ports: ObservePorts,
  object: Projected<CAPTMachine>,
  nowMs: number,
): Promise<Observed> {
  const { cache } = ports
  const namespace = object.metadata.namespace ?? ''
  const { clusterName, cluster } = namedCluster(cache, ports.clusterKind, object)
  const apply = cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, {
    namespace,
    name: machineApplyName(object.metadata.name),
  })
  const facts = readApply(apply)
  const owner = findOwner(object, ports.machineKind)
  const machine = owner && !apply ? await readMachine(ports, { namespace, name: owner.name }) : undefined
  const { home, version } = clusterName === undefined ? {} : controlPlaneOf(cache, namespace, clusterName, cluster)
  const nodeGroup = nodeGroupOf(ports.cache, object)
  const placement =
    clusterName === undefined || !home ? undefined : { cluster: clusterName, home, ...placeOf(object, apply, machine) }
  const instance = toInstance(facts.outputs)
  const isDeleting = object.metadata.deletionTimestamp !== undefined
  return {
    object,
    clusterName,
    cluster,
    isUnderMachine: isMadeByCore(object),
    machine,
    hasHome: home !== undefined,
    runningVersion: version === undefined ? undefined : eksVersion(version),
    nodeGroup,
    request: placement && toRequest(object, placement, nodeGroup),
    apply,
    facts,
    instance,
    node: await observeNode(ports, object, cluster, isDeleting, instance),
    drain: ports.drains.get(keyOf(object)),
    nowMs,
  }
}

/** A MachineSet clones it from a template and owns it until its Machine does; one on its own has its Cluster at most. */
export function isMadeByCore({ metadata }: AnyObject): boolean {
  const { ownerReferences = [], annotations = {} } = metadata
  const isCore = ({ apiVersion, kind }: OwnerReference) =>
    apiVersion.startsWith(`${CLUSTER_GROUP}/`) && kind !== 'Cluster'
  return CLONED_ANNOTATION in annotations || ownerReferences.some(isCore)
}

function controlPlaneOf(cache: Cache, namespace: string, name: string, cluster: Observed['cluster']) {
  const [plane] = cache.list<CAPTControlPlane>(CAPTControlPlane, {
    index: BY_CLUSTER,
    value: `${namespace}/${name}`,
  })
  if (!plane) return {}
  const { version } = plane.status ?? {}
  if (isAdopted(plane)) {
    const infra = referred<CAPTCluster>(cache, CAPTCluster, namespace, cluster?.infrastructureRef)
    const location = locationOf(plane, infra, name, cluster?.annotations)
    return { home: location && homeOfAdopted(location), version }
  }
  const apply = cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, {
    namespace,
    name: eksApplyName(plane, name),
  })
  return { home: apply && homeOf(apply), version }
}

/** A request that was made keeps what the instance started with. */
function placeOf(
  object: CAPTMachine,
  apply: WorkspaceTemplateApply | undefined,
  machine: CoreMachine | undefined,
): Pick<Placement, 'userDataSecret' | 'zone' | 'version' | 'labels'> {
  const own = userDataSecretName(object.metadata.name)
  const { user_data_secret: used, zone, kubernetes_version: version } = apply?.spec.variables ?? {}
  if (apply) return { userDataSecret: used ?? own, zone, version, labels: apply.spec.values?.['labels'] }
  return {
    userDataSecret: machine?.dataSecret ?? own,
    zone: machine?.zone,
    version: machine?.version === undefined ? undefined : eksVersion(machine.version),
    labels: object.spec.labels,
  }
}

function toRequest(object: CAPTMachine, placement: Omit<Placement, 'nodeGroup'>, group: NodeGroup) {
  if (group.is !== 'found' && group.is !== 'none') return undefined
  return machineRequest(object, { ...placement, nodeGroup: group.is === 'found' ? group.name : undefined })
}

/** Read by name: a cache of every Machine would be paid for by management clusters that have none. */
async function readMachine({ objects, machineKind }: ObservePorts, key: Key): Promise<CoreMachine | undefined> {
  try {
    const machine = await objects.get<AnyObject & { readonly spec?: unknown }>(machineKind, key)
    if (!machine) return undefined
    const spec = isPlainObject(machine.spec) ? machine.spec : {}
    const bootstrap = isPlainObject(spec['bootstrap']) ? spec['bootstrap'] : {}
    return {
      name: key.name,
      dataSecret: textOf(bootstrap['dataSecretName']),
      zone: textOf(spec['failureDomain']),
      version: textOf(spec['version']),
    }
  } catch (error) {
    if (!isKubeError(error, 'KindNotServed')) throw error
    return undefined
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

async function observeNode(
  { workloads }: ObservePorts,
  { spec, status, metadata }: CAPTMachine,
  cluster: Observed['cluster'],
  isDeleting: boolean,
  instance: Instance | undefined,
): Promise<NodeState> {
  const name = instance?.nodeName ?? status?.nodeRef?.name
  const providerId = spec.providerID ?? instance?.providerId
  // With its Cluster every Node goes; its API may be gone already.
  if (name === undefined || providerId === undefined || !cluster || cluster.deleting || cluster.paused)
    return { is: 'unread' }
  const key = { namespace: metadata.namespace ?? '', name: cluster.name }
  return await readNode(workloads, key, { name, providerId, withPods: isDeleting })
}
