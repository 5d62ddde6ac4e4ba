// Reads everything that a decision about a CAPTMachine needs: from caches, its core Machine and its Node by name.
import {
  type AnyObject,
  allowsNamespace,
  CAPTControlPlane,
  type CAPTMachine,
  CLUSTER_NAME_LABEL,
  clusterOwnerOf,
  type Key,
  type KindRef,
  keyOf,
  readCluster,
  WorkspaceTemplateApply,
} from '#api'
import { type Cache, isKubeError, type Objects, type Projected } from '#kube'
import { isPlainObject } from '#lib'
import { findOwner } from '#runtime'
import { eksApplyName } from '../control-plane/variables.ts'
import { type ApplyFacts, type ApplyRequest, readApply } from '../shared/apply.ts'
import { BY_CLUSTER } from '../shared/owner-cluster.ts'
import type { ClusterPart } from '../shared/wakes.ts'
import type { Workloads } from '../shared/workload.ts'
import type { DrainLog, DrainNote } from './drain.ts'
import { type Instance, toInstance } from './instance.ts'
import { type NodeState, readNode } from './node.ts'
import { homeOf, machineApplyName, machineRequest, type Placement, userDataSecretName } from './variables.ts'

/** The facts of the Cluster that are observed; a change of any other does not trigger a reconcile. */
export const FACTS_READ = ['uid', 'paused', 'deleting', 'controlPlaneInitialized'] as const

/** What the core Machine asks for. */
interface CoreMachine {
  readonly name: string
  /** Undefined until the bootstrap provider has made it. */
  readonly dataSecret: string | undefined
  readonly zone: string | undefined
}

type NodeGroup =
  | { readonly is: 'none' }
  | { readonly is: 'missing'; readonly ref: string }
  | { readonly is: 'waiting'; readonly apply: string }
  | { readonly is: 'found'; readonly name: string }

export interface Observed {
  readonly object: Projected<CAPTMachine>
  /** Name of the Cluster; undefined when nothing names one. */
  readonly clusterName: string | undefined
  readonly cluster: (ClusterPart<typeof FACTS_READ> & { readonly object: AnyObject }) | undefined
  /** Core makes, drains and deletes it. */
  readonly isUnderMachine: boolean
  /** Undefined without a core Machine, and once the instance was asked for. */
  readonly machine: CoreMachine | undefined
  readonly hasHome: boolean
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

interface ObservePorts {
  readonly objects: Objects
  readonly cache: Cache
  readonly workloads: Workloads
  readonly drains: DrainLog
  readonly clusterKind: KindRef
  readonly machineKind: KindRef
}

export async function observeMachine(
  ports: ObservePorts,
  object: Projected<CAPTMachine>,
  nowMs: number,
): Promise<Observed> {
  const { cache } = ports
  const namespace = object.metadata.namespace ?? ''
  const clusterName = clusterNameOf(object)
  const found = clusterName === undefined ? undefined : cache.get(ports.clusterKind, { namespace, name: clusterName })
  const cluster = found && { ...readCluster(found), object: found }
  const apply = cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, {
    namespace,
    name: machineApplyName(object.metadata.name),
  })
  const facts = readApply(apply)
  const owner = findOwner(object, ports.machineKind)
  const machine = owner && !apply ? await readMachine(ports, { namespace, name: owner.name }) : undefined
  const home = clusterName === undefined ? undefined : controlPlaneOf(cache, namespace, clusterName)
  const nodeGroup = nodeGroupOf(cache, object)
  const placement =
    clusterName === undefined || !home ? undefined : { cluster: clusterName, home, ...placeOf(object, apply, machine) }
  const instance = toInstance(facts.outputs)
  const isDeleting = object.metadata.deletionTimestamp !== undefined
  return {
    object,
    clusterName,
    cluster,
    isUnderMachine: owner !== undefined,
    machine,
    hasHome: home !== undefined,
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

/** By owner reference, else by the label that people write on a machine of its own. */
export function clusterNameOf(object: AnyObject): string | undefined {
  return clusterOwnerOf(object)?.name ?? object.metadata.labels?.[CLUSTER_NAME_LABEL]
}

function controlPlaneOf(cache: Cache, namespace: string, cluster: string) {
  const [plane] = cache.list<CAPTControlPlane>(CAPTControlPlane, {
    index: BY_CLUSTER,
    value: `${namespace}/${cluster}`,
  })
  const apply =
    plane &&
    cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name: eksApplyName(plane, cluster) })
  return apply && homeOf(apply)
}

/** A request that was made keeps what the instance started with. */
function placeOf(
  object: CAPTMachine,
  apply: WorkspaceTemplateApply | undefined,
  machine: CoreMachine | undefined,
): Pick<Placement, 'userDataSecret' | 'zone' | 'labels'> {
  const own = userDataSecretName(object.metadata.name)
  const { user_data_secret: used, zone } = apply?.spec.variables ?? {}
  if (apply) return { userDataSecret: used ?? own, zone, labels: apply.spec.values?.['labels'] }
  return { userDataSecret: machine?.dataSecret ?? own, zone: machine?.zone, labels: object.spec.labels }
}

function toRequest(object: CAPTMachine, placement: Omit<Placement, 'nodeGroup'>, group: NodeGroup) {
  if (group.is === 'missing' || group.is === 'waiting') return undefined
  return machineRequest(object, { ...placement, nodeGroup: group.is === 'found' ? group.name : undefined })
}

/** A pool's apply is called `<pool>-node-group`; any other apply is found by its own name. */
export function nodeGroupOf(
  cache: Pick<Cache, 'get'>,
  { spec, metadata }: Pick<CAPTMachine, 'spec' | 'metadata'>,
): NodeGroup {
  if (!spec.nodeGroupRef) return { is: 'none' }
  const { name, namespace = metadata.namespace ?? '' } = spec.nodeGroupRef
  const [apply] = [`${name}-node-group`, name]
    .map((one) => cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name: one }))
    .filter((one) => one !== undefined && allowsNamespace(one, metadata.namespace ?? ''))
  if (!apply) return { is: 'missing', ref: `${namespace}/${name}` }
  const group = apply.status?.outputs?.['node_group_name']
  return typeof group === 'string' && group !== ''
    ? { is: 'found', name: group }
    : { is: 'waiting', apply: apply.metadata.name }
}

/** Read by name: a cache of every Machine would be paid for by management clusters that have none. */
async function readMachine({ objects, machineKind }: ObservePorts, key: Key): Promise<CoreMachine | undefined> {
  try {
    const machine = await objects.get<AnyObject & { readonly spec?: unknown }>(machineKind, key)
    if (!machine) return undefined
    const spec = isPlainObject(machine.spec) ? machine.spec : {}
    const bootstrap = isPlainObject(spec['bootstrap']) ? spec['bootstrap'] : {}
    return { name: key.name, dataSecret: textOf(bootstrap['dataSecretName']), zone: textOf(spec['failureDomain']) }
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
