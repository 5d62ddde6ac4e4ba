// The nodes of a cluster as rows: pools, deployments with their sets and machines, and the node pools of Karpenter. Pure.
import {
  type AddonDelivery,
  type AnyObject,
  type CAPTMachine,
  type CAPTMachineDeployment,
  type CAPTMachinePool,
  type CAPTMachineSet,
  conditionOf,
} from '#api'
import { type State, stateOf, wordOf } from '../branch.ts'
import type { ClusterObjects } from '../cluster-tree.ts'
import { deliveryBranch } from '../delivery-branch.ts'
import { ownedOf, withoutOwner } from './machine-branches.ts'

export interface NodeRow {
  readonly kind: string
  readonly name: string
  /** How deep below a deployment or a set. */
  readonly depth: number
  /** Undefined where capt does not count them, as with the nodes of Karpenter. */
  readonly ready?: number
  readonly desired?: number
  /** Instance types; empty where they are not known. */
  readonly type: string
  readonly version: string
  readonly state: State
  readonly word: string
  /** Why it is not ready; what was seen otherwise. */
  readonly fact: string
}

export function nodeRows(objects: ClusterObjects): readonly NodeRow[] {
  const { pools = [], machines, corePools = [], deliveries } = objects
  const { deployments = [], sets = [], machines: single = [] } = machines ?? {}
  return [
    ...pools.map((pool) => poolRow(pool, ownerOf(pool, corePools))),
    ...corePools.filter((core) => pools.every((pool) => ownerOf(pool, [core]) === undefined)).map(corePoolRow),
    ...deployments.flatMap((deployment) => [
      groupRow(deployment, 0),
      ...ownedOf(deployment, sets).flatMap((set) => setRows(set, single, 1)),
    ]),
    ...withoutOwner(sets, deployments).flatMap((set) => setRows(set, single, 0)),
    ...withoutOwner(single, sets).map((machine) => machineRow(machine, 0)),
    ...deliveries.flatMap(karpenterRows),
  ]
}

/** The core MachinePool that a pool belongs to. */
export interface CorePool extends AnyObject {
  readonly spec?: { readonly replicas?: number; readonly template?: { readonly spec?: { readonly version?: string } } }
  readonly status?: { readonly readyReplicas?: number; readonly conditions?: unknown }
}

const ownerOf = (pool: CAPTMachinePool, all: readonly CorePool[]): CorePool | undefined =>
  all.find((core) => ownedOf(core, [pool]).length > 0)

function rowOf(object: AnyObject, depth: number) {
  const state = stateOf(object)
  const fact = state === 'ready' ? '' : (conditionOf(object, 'Ready')?.message.split('\n')[0] ?? '')
  return { kind: object.kind, name: object.metadata.name, depth, state, word: wordOf(state), fact }
}

function poolRow(pool: CAPTMachinePool, core: CorePool | undefined): NodeRow {
  const { readyReplicas = 0, version = '' } = pool.status ?? {}
  const desired = core?.spec?.replicas
  return {
    ...rowOf(pool, 0),
    ready: readyReplicas,
    ...(desired === undefined ? {} : { desired }),
    type: pool.spec.instanceTypes?.join(', ') ?? '',
    version,
  }
}

/** A pool of another provider, by the fields that core writes. */
function corePoolRow(core: CorePool): NodeRow {
  const { replicas: desired = 1, template } = core.spec ?? {}
  const { readyReplicas: ready = 0 } = core.status ?? {}
  const state: State = core.metadata.deletionTimestamp ? 'deleting' : ready >= desired ? 'ready' : 'waiting'
  const version = template?.spec?.version ?? ''
  return { ...rowOf(core, 0), state, word: wordOf(state), fact: '', ready, desired, type: '', version }
}

/** Sets of earlier templates without machines are history, which `capt rollout history` shows. */
function setRows(set: CAPTMachineSet, machines: readonly CAPTMachine[], depth: number): readonly NodeRow[] {
  const own = ownedOf(set, machines)
  if (depth > 0 && own.length === 0 && (set.spec.replicas ?? 0) === 0) return []
  return [groupRow(set, depth), ...own.map((machine) => machineRow(machine, depth + 1))]
}

function groupRow(object: CAPTMachineDeployment | CAPTMachineSet, depth: number): NodeRow {
  const { replicas: desired = 1, template } = object.spec
  return {
    ...rowOf(object, depth),
    ready: object.status?.availableReplicas ?? 0,
    desired,
    type: template.spec.instanceType,
    version: '',
  }
}

function machineRow(machine: CAPTMachine, depth: number): NodeRow {
  const row = rowOf(machine, depth)
  const { nodeRef, instanceId } = machine.status ?? {}
  const fact = row.fact || [nodeRef?.name, instanceId].filter(Boolean).join(', ')
  const isReady = conditionOf(machine, 'NodeHealthy')?.status === 'True'
  return { ...row, fact, ready: isReady ? 1 : 0, desired: 1, type: machine.spec.instanceType, version: '' }
}

const NODE_POOL = /^NodePool (\S+) (.+)$/

/** Karpenter counts its nodes in the workload cluster; the delivery knows its pools, and the node of a probe. */
function karpenterRows(delivery: AddonDelivery): readonly NodeRow[] {
  const branches = new Map(deliveryBranch(delivery).children.map((branch) => [branch.name, branch]))
  return (delivery.status?.stages ?? []).flatMap((stage) => {
    const branch = branches.get(stage.name)
    const evidence = stage.healthy?.evidence ?? []
    const probe = evidence.find((one) => one.startsWith('probe pod ran on node'))
    return evidence.flatMap((one) => {
      const [, name, fact] = NODE_POOL.exec(one) ?? []
      if (name === undefined || !branch) return []
      const { state, word } = branch
      const seen = probe ?? (state === 'ready' ? '' : (fact ?? ''))
      return [{ kind: 'NodePool of Karpenter', name, depth: 0, type: '', version: '', state, word, fact: seen }]
    })
  })
}
