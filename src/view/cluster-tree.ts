// Turns the objects of one Cluster into the tree that `capt describe` and the dashboard show.
import {
  type AddonDelivery,
  type AnyObject,
  type CAPTCluster,
  type CAPTControlPlane,
  type CAPTMachinePool,
  type Condition,
  conditionOf,
  readCluster,
  type WorkspaceTemplateApply,
} from '#api'
import { counted } from '#lib'
import { applyBranch } from './apply-branch.ts'
import { type Branch, type State, type Stop, stateOf, wordOf } from './branch.ts'
import { deliveryBranch } from './delivery-branch.ts'
import { type ClusterMachines, machineBranches } from './nodes/machine-branches.ts'
import type { CorePool } from './nodes/node-rows.ts'
import { stopOf } from './stops.ts'

export interface ClusterObjects {
  readonly cluster: AnyObject
  readonly infrastructure?: CAPTCluster
  readonly controlPlane?: CAPTControlPlane
  readonly pools?: readonly CAPTMachinePool[]
  readonly machines?: ClusterMachines
  /** MachinePools of core, which say how many nodes a pool should have. */
  readonly corePools?: readonly CorePool[]
  readonly applies: readonly WorkspaceTemplateApply[]
  readonly deliveries: readonly AddonDelivery[]
}

export function clusterTree(objects: ClusterObjects): Branch {
  const { cluster, infrastructure, controlPlane, pools = [], machines, applies, deliveries } = objects
  const ownedBy = (owner: AnyObject) =>
    applies
      .filter((apply) => apply.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid))
      .map(applyBranch)
  const children = [
    ...(infrastructure ? [infrastructureBranch(infrastructure, ownedBy(infrastructure))] : []),
    ...(controlPlane ? [controlPlaneBranch(controlPlane, ownedBy(controlPlane))] : []),
    ...pools.map((pool) => poolBranch(pool, ownedBy(pool))),
    ...(machines ? machineBranches(machines, { branchOf, ownedBy }) : []),
    ...deliveries.map(deliveryBranch),
  ]
  const found = clusterState(cluster, children)
  const lacking = found === 'deleting' ? [] : lackingParts(objects)
  const state = found === 'ready' && lacking.length > 0 ? 'waiting' : found
  const available = conditionOf(cluster, 'Available') ?? conditionOf(cluster, 'Ready')
  return {
    name: `Cluster/${cluster.metadata.name}`,
    state,
    word: state === 'ready' ? 'ready' : state === 'deleting' || state === 'paused' ? state : 'not ready',
    fact: state === 'ready' ? clusterFact(cluster, infrastructure, controlPlane) : firstTrouble(children, available),
    ...clusterSince(state, children, since(available, cluster)),
    ...(lacking.length > 0 ? { stop: lackingStop(cluster, lacking) } : {}),
    children,
  }
}

/** Objects of ours that the Cluster refers to and that do not exist. */
function lackingParts({ cluster, infrastructure, controlPlane }: ClusterObjects): readonly string[] {
  const { infrastructureRef, controlPlaneRef } = readCluster(cluster)
  return [
    ...(infrastructureRef?.kind === 'CAPTCluster' && !infrastructure ? [infrastructureRef] : []),
    ...(controlPlaneRef?.kind === 'CAPTControlPlane' && !controlPlane ? [controlPlaneRef] : []),
  ].map(({ kind, name }) => `${kind} ${name}`)
}

function lackingStop({ metadata }: AnyObject, lacking: readonly string[]): Stop {
  return {
    what: `Cluster ${metadata.name} refers to ${lacking.join(' and ')}, which ${lacking.length === 1 ? 'does' : 'do'} not exist`,
    why: 'a cluster is made from them; it goes on by itself once they are there',
    todo: 'apply their manifests, or correct spec.infrastructureRef and spec.controlPlaneRef',
  }
}

/** A Cluster is as ready as the least ready of its parts. */
function clusterState(cluster: AnyObject, children: readonly Branch[]): State {
  if (cluster.metadata.deletionTimestamp !== undefined) return 'deleting'
  const { spec } = cluster as AnyObject & { readonly spec?: { readonly paused?: boolean } }
  if (spec?.paused) return 'paused'
  if (children.length === 0) return 'unknown'
  for (const state of ['stalled', 'working', 'waiting', 'unknown', 'paused', 'deleting'] as const)
    if (children.some((child) => child.state === state)) return state
  return 'ready'
}

/** Ready since the last of its parts is, not ready since the first of them is not. `own`: by its own condition. */
function clusterSince(state: State, children: readonly Branch[], own: { since?: string }): { since?: string } {
  const isReady = state === 'ready'
  if (!isReady && state !== 'stalled' && state !== 'working' && state !== 'waiting') return own
  const times = children.filter((child) => isReady || child.state !== 'ready').flatMap(({ since: time }) => time ?? [])
  const sorted = [...times, ...(isReady && own.since !== undefined ? [own.since] : [])].sort()
  const found = isReady ? sorted.at(-1) : sorted[0]
  return found === undefined ? own : { since: found }
}

function clusterFact(cluster: AnyObject, infrastructure?: CAPTCluster, controlPlane?: CAPTControlPlane): string {
  const inAws = infrastructure?.status?.clusterName
  const name = inAws === undefined || inAws === cluster.metadata.name ? '' : `${inAws} in AWS`
  return [controlPlane?.status?.version, infrastructure?.spec.region, name].filter(Boolean).join(', ')
}

function firstTrouble(children: readonly Branch[], available: Condition | undefined): string {
  const order: readonly State[] = ['stalled', 'working', 'waiting', 'deleting', 'paused', 'unknown']
  for (const state of order) {
    const child = children.find((candidate) => candidate.state === state)
    if (child) return `${child.name.split('/')[0]}: ${child.fact || child.word}`
  }
  return available?.message ?? ''
}

function infrastructureBranch(object: CAPTCluster, children: readonly Branch[]): Branch {
  const state = stateOf(object)
  const { status, spec } = object
  const zones = status?.availabilityZones?.length
  const made = spec.existingVpcId ? 'existing' : 'created'
  const fact = status?.vpcId ? `${status.vpcId} (${made})${zones ? `, ${zones} zones` : ''}` : ''
  return branchOf(object, state, state === 'ready' ? fact : messageOr(object, fact), children)
}

function controlPlaneBranch(object: CAPTControlPlane, children: readonly Branch[]): Branch {
  const state = stateOf(object)
  const endpoint = object.spec.controlPlaneEndpoint?.host
  const fact = [object.status?.version, endpoint].filter(Boolean).join(', ')
  return branchOf(object, state, state === 'ready' ? fact : messageOr(object, fact), children)
}

function poolBranch(object: CAPTMachinePool, children: readonly Branch[]): Branch {
  const state = stateOf(object)
  const { replicas, version } = object.status ?? {}
  const nodes = replicas === undefined ? '' : counted(replicas, 'node')
  const fact = [nodes, version, object.spec.instanceTypes?.join(' or ')].filter(Boolean).join(', ')
  return branchOf(object, state, state === 'ready' ? fact : messageOr(object, fact), children)
}

function branchOf(object: AnyObject, state: State, fact: string, children: readonly Branch[]): Branch {
  const name = `${object.kind}/${object.metadata.name}`
  const stop = stopOf(object, state)
  return {
    name,
    state,
    word: wordOf(state),
    fact,
    ...(stop ? { label: labelOf(object) } : {}),
    ...since(conditionOf(object, 'Ready'), object),
    ...(stop ? { stop } : {}),
    children,
  }
}

/** The reason alone; its sentence is in the stop. */
function labelOf(object: AnyObject): string {
  const reasons = (['Paused', 'Stalled'] as const).flatMap((type) => {
    const condition = conditionOf(object, type)
    return condition?.status === 'True' ? [condition.reason] : []
  })
  return reasons[0] ?? conditionOf(object, 'Ready')?.reason ?? ''
}

function messageOr(object: AnyObject, fact: string): string {
  return conditionOf(object, 'Ready')?.message.split('\n')[0] || fact
}

function since(condition: Condition | undefined, object: AnyObject): { since?: string } {
  const time = condition?.lastTransitionTime ?? object.metadata.creationTimestamp
  return time === undefined ? {} : { since: time }
}
