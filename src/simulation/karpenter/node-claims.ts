// Plays the part of Karpenter that launches and terminates machines. Every machine is in the ledger from launch to
// termination, and a claim holds its finalizer until its machine is gone.
import { keyOf, NodeKind, PodKind } from '#api'
import type { Cache, Projected } from '#kube'
import { shortHash } from '#lib'
import {
  act,
  type Controller,
  type Decision,
  done,
  hasFinalizer,
  ownerReference,
  removeFinalizer,
  waiting,
} from '#runtime'
import { conditionList, type Stage, secondsLeft, wakeAll } from '../actor.ts'
import type { Budget } from '../kubernetes/budgets.ts'
import { hasJoined, joinNode } from '../kubernetes/nodes.ts'
import type { Node, Pod } from '../kubernetes/placement.ts'
import type { SimulatedInstance } from '../ledger.ts'
import { NodeClaimKind, PodDisruptionBudgetKind, simulated } from '../names.ts'
import { evictable, graceLeft } from './drain.ts'
import { resourcesOf, typeOfClaim } from './instance-types.ts'
import { CLAIM_FINALIZER, isAlive, type NodeClaim, POOL_LABEL, wakeOnController } from './objects.ts'

interface ObservedClaim {
  readonly claim: Projected<NodeClaim>
  readonly node: Projected<Node> | undefined
  readonly pods: readonly Projected<Pod>[]
  readonly budgets: readonly Projected<Budget>[]
  readonly isAlive: boolean
  readonly nowMs: number
  readonly paceMs: number
}
type ClaimAction =
  | { readonly do: 'launch' | 'register' | 'terminate' }
  | { readonly do: 'drain'; readonly pods: readonly Projected<Pod>[] }

const leaving = (cache: Cache) =>
  cache
    .list(NodeClaimKind)
    .filter((claim) => claim.metadata.deletionTimestamp)
    .map(keyOf)

export function nodeClaimActor(stage: Stage): Controller<NodeClaim, ObservedClaim, ClaimAction> {
  return {
    name: 'simulated-nodeclaim',
    kind: NodeClaimKind,
    summary: false,
    wakes: [
      wakeOnController(NodeClaimKind),
      wakeAll(NodeClaimKind, NodeKind),
      { kind: PodKind, toKeys: (_pod, cache) => leaving(cache) },
      { kind: PodDisruptionBudgetKind, toKeys: (_budget, cache) => leaving(cache) },
    ],
    async observe({ cache }, claim) {
      const nodeName = nodeNameOf(claim)
      return {
        claim,
        node: cache.get<Node>(NodeKind, { name: nodeName }),
        pods: cache
          .list<Pod>(PodKind)
          .filter((pod) => pod.spec?.nodeName === nodeName && !pod.metadata.deletionTimestamp),
        budgets: claim.metadata.deletionTimestamp ? cache.list<Budget>(PodDisruptionBudgetKind) : [],
        isAlive: isAlive(stage, cache),
        nowMs: stage.clock.now(),
        paceMs: stage.paceMs,
      }
    },
    decide: decideClaim,
    async act({ objects }, { claim, node }, action) {
      if (action.do === 'launch')
        return await stage.ledger.add({ ...instanceOf(claim), ...(stage.isAutoMode ? { isManaged: true } : {}) })
      if (action.do === 'drain') {
        for (const pod of action.pods) await objects.delete(PodKind, keyOf(pod))
        return
      }
      if (action.do === 'terminate') {
        if (node) await objects.delete(NodeKind, keyOf(node))
        await stage.ledger.remove(instanceOf(claim).id)
        if (node) await removeFinalizer(objects, NodeKind, node, CLAIM_FINALIZER)
        return await removeFinalizer(objects, NodeClaimKind, claim, CLAIM_FINALIZER)
      }
      const { metadata, ...shape } = toNode(claim)
      const ownerReferences = [ownerReference(claim, { blockOwnerDeletion: true })]
      const joining = { ...shape, metadata: { ...metadata, ownerReferences } }
      await joinNode(objects, joining, nodeStatus(stage.clock.now(), typeOfClaim(claim)))
    },
    status: reportClaim,
  }
}

function decideClaim(observed: ObservedClaim): Decision<ClaimAction> {
  const { claim, node, isAlive, nowMs, paceMs } = observed
  if (!isAlive) return waiting('NoController', 'karpenter does not run')
  if (claim.metadata.deletionTimestamp) return hasFinalizer(claim, CLAIM_FINALIZER) ? decideDrain(observed) : done
  if (claim.status?.providerID === undefined) return act<ClaimAction>({ do: 'launch' })
  const left = secondsLeft(claim.metadata.creationTimestamp, paceMs, nowMs)
  if (left > 0) return waiting('Launching', 'The machine starts', left)
  return hasJoined(node) ? done : act<ClaimAction>({ do: 'register' })
}

function decideDrain({ claim, pods, budgets, nowMs }: ObservedClaim): Decision<ClaimAction> {
  if (pods.length === 0) return act<ClaimAction>({ do: 'terminate' })
  const left = graceLeft(claim, nowMs)
  const going = evictable(pods, budgets, left === 0)
  return going.length > 0
    ? act<ClaimAction>({ do: 'drain', pods: going })
    : waiting('Draining', 'Pods may not be disrupted', left)
}

/** The Node of a machine, without its owner. */
export function toNode(claim: NodeClaim): Node {
  const { type, zone, id, nodePool } = instanceOf(claim)
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeNameOf(claim),
      // As with Karpenter: the Node goes when its machine is gone, and the claim when its Node is.
      finalizers: [CLAIM_FINALIZER],
      labels: {
        ...claim.metadata.labels,
        ...simulated,
        [POOL_LABEL]: nodePool,
        'node.kubernetes.io/instance-type': type,
        'topology.kubernetes.io/zone': zone,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': requirementOf(claim, 'kubernetes.io/arch', 'amd64'),
        'karpenter.sh/capacity-type': requirementOf(claim, 'karpenter.sh/capacity-type', 'on-demand'),
        'kubernetes.io/hostname': nodeNameOf(claim),
      },
    },
    spec: { providerID: `aws:///${zone}/${id}`, taints: claim.spec?.taints ?? [] },
  }
}

/** As a kubelet reports it: core counts a Machine as available only when each pressure is reported. */
export function nodeStatus(nowMs: number, type: string) {
  const pressures = ['MemoryPressure', 'DiskPressure', 'PIDPressure'].map(
    (pressure) => ({ type: pressure, status: 'False', reason: 'KubeletHasSufficient', message: 'simulated' }) as const,
  )
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'simulated' } as const
  return { ...resourcesOf(type), conditions: conditionList(undefined, [...pressures, ready], nowMs) }
}

function requirementOf({ spec }: NodeClaim, key: string, fallback: string): string {
  return spec?.requirements?.find((one) => one.key === key && one.operator === 'In')?.values?.[0] ?? fallback
}

function seedOf(claim: NodeClaim): number {
  let sum = 11
  for (const char of claim.metadata.name) sum = (sum * 37 + char.charCodeAt(0)) % 60_000
  return sum
}

function nodeNameOf(claim: NodeClaim): string {
  const seed = seedOf(claim)
  return `ip-10-0-${Math.floor(seed / 250)}-${(seed % 250) + 4}`
}

function instanceOf(claim: NodeClaim): SimulatedInstance {
  return {
    id: `i-sim${shortHash(claim.metadata.name, 12)}`,
    nodePool: claim.metadata.labels?.[POOL_LABEL] ?? 'default',
    type: typeOfClaim(claim),
    zone: requirementOf(claim, 'topology.kubernetes.io/zone', 'simulated-1a'),
  }
}

function reportClaim({ claim, node, isAlive, nowMs }: ObservedClaim) {
  if (!isAlive || claim.metadata.deletionTimestamp) return {}
  const { id, zone } = instanceOf(claim)
  const up = node ? 'True' : 'Unknown'
  const drafts = [
    { type: 'Launched', status: 'True', reason: 'Simulated' },
    { type: 'Registered', status: up, reason: 'Simulated' },
    { type: 'Initialized', status: up, reason: 'Simulated' },
    { type: 'Ready', status: up, reason: 'Simulated' },
  ] as const
  return {
    fields: {
      providerID: `aws:///${zone}/${id}`,
      ...(node ? { nodeName: node.metadata.name } : {}),
      conditions: conditionList(claim.status?.conditions, drafts, nowMs, claim.metadata.generation),
    },
  }
}
