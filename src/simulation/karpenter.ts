// Plays Karpenter while its Deployment is available: classes and pools become ready, pending pods get a machine, and
// machines go with their claims. Every machine is in the ledger from launch to termination.
import { type AnyObject, DeploymentKind, findCondition, keyOf, NodeKind, PodKind } from '#api'
import { type Cache, isKubeError, type Projected } from '#kube'
import { shortHash } from '#lib'
import { act, addFinalizer, type Controller, type Decision, done, hasFinalizer, isTrue, ownerReference, removeFinalizer, waiting } from '#runtime'
import { conditionList, secondsLeft, type Stage } from './actor.ts'
import { isRunning } from './flux-sources.ts'
import type { SimulatedInstance } from './ledger.ts'
import { EC2NodeClassKind, NodeClaimKind, NodePoolKind, simulated } from './names.ts'
import { cpuOf, type Node, type Pod } from './placement.ts'

interface Requirement {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}
interface NodePool extends AnyObject {
  readonly spec?: { readonly template?: { readonly metadata?: { readonly labels?: Readonly<Record<string, string>> }; readonly spec?: { readonly nodeClassRef?: { readonly name: string }; readonly requirements?: readonly Requirement[]; readonly taints?: Node['spec'] extends infer _ ? readonly { key: string; value?: string; effect: string }[] : never } } }
  readonly status?: { readonly conditions?: unknown }
}
interface NodeClaim extends AnyObject {
  readonly spec?: { readonly requirements?: readonly Requirement[]; readonly nodeClassRef?: { readonly name: string } }
  readonly status?: { readonly conditions?: unknown; readonly nodeName?: string; readonly providerID?: string }
}

export const CLASS_FINALIZER = 'karpenter.k8s.aws/termination'
export const CLAIM_FINALIZER = 'karpenter.sh/termination'
export const POOL_LABEL = 'karpenter.sh/nodepool'

const wakeOnController = (kind: typeof NodePoolKind) => ({
  kind: DeploymentKind,
  toKeys: (object: AnyObject, cache: Cache) => (object.metadata.name === 'karpenter' ? cache.list(kind).map(keyOf) : []),
})

interface ClassSeen {
  readonly one: Projected<AnyObject & { status?: { conditions?: unknown } }>
  readonly isAlive: boolean
  readonly isUsed: boolean
  readonly nowMs: number
}
type Hold = { readonly do: 'hold' | 'let-go' }

export function nodeClassActor(stage: Stage): Controller<AnyObject, ClassSeen, Hold> {
  return {
    name: 'simulated-ec2nodeclass',
    kind: EC2NodeClassKind,
    summary: false,
    wakes: [wakeOnController(EC2NodeClassKind), { kind: NodeClaimKind, toKeys: (_claim, cache) => cache.list(EC2NodeClassKind).map(keyOf) }],
    async observe({ cache }, one) {
      const isUsed = cache.list<NodeClaim>(NodeClaimKind).some((claim) => claim.spec?.nodeClassRef?.name === one.metadata.name)
      return { one, isAlive: isRunning(cache, 'karpenter'), isUsed, nowMs: stage.clock.now() }
    },
    decide({ one, isAlive, isUsed }) {
      if (!isAlive) return waiting('NoController', 'karpenter does not run')
      const isHeld = hasFinalizer(one, CLASS_FINALIZER)
      if (!one.metadata.deletionTimestamp) return isHeld ? done : act<Hold>({ do: 'hold' })
      return isHeld && !isUsed ? act<Hold>({ do: 'let-go' }) : done
    },
    act: ({ objects }, { one }, action) => (action.do === 'hold' ? addFinalizer : removeFinalizer)(objects, EC2NodeClassKind, one, CLASS_FINALIZER),
    status({ one, isAlive, nowMs }) {
      if (!isAlive || one.metadata.deletionTimestamp) return {}
      const drafts = ['SubnetsReady', 'SecurityGroupsReady', 'AMIsReady', 'InstanceProfileReady', 'ValidationSucceeded', 'Ready'].map((type) => ({ type, status: 'True', reason: 'Simulated' }) as const)
      return { fields: { conditions: conditionList(one.status?.conditions, drafts, nowMs, one.metadata.generation) } }
    },
  }
}

interface PoolSeen {
  readonly pool: Projected<NodePool>
  readonly isAlive: boolean
  readonly isClassReady: boolean
  readonly nowMs: number
}

export function nodePoolActor(stage: Stage): Controller<NodePool, PoolSeen, never> {
  return {
    name: 'simulated-nodepool',
    kind: NodePoolKind,
    summary: false,
    wakes: [wakeOnController(NodePoolKind), { kind: EC2NodeClassKind, toKeys: (_one, cache) => cache.list(NodePoolKind).map(keyOf) }],
    async observe({ cache }, pool) {
      const name = pool.spec?.template?.spec?.nodeClassRef?.name ?? ''
      const one = cache.get(EC2NodeClassKind, { name })
      return { pool, isAlive: isRunning(cache, 'karpenter'), isClassReady: one !== undefined && isTrue(one, 'Ready'), nowMs: stage.clock.now() }
    },
    decide: () => done,
    act: async () => undefined,
    status({ pool, isAlive, isClassReady, nowMs }) {
      if (!isAlive || pool.metadata.deletionTimestamp) return {}
      const status = isClassReady ? 'True' : 'False'
      const drafts = [
        { type: 'ValidationSucceeded', status: 'True', reason: 'Simulated' },
        { type: 'NodeClassReady', status, reason: isClassReady ? 'Simulated' : 'NodeClassNotReady' },
        { type: 'Ready', status, reason: isClassReady ? 'Simulated' : 'NodeClassNotReady' },
      ] as const
      return { fields: { conditions: conditionList(pool.status?.conditions, drafts, nowMs, pool.metadata.generation) } }
    },
  }
}

interface PendingSeen {
  readonly pod: Projected<Pod>
  readonly pool: Projected<NodePool> | undefined
  readonly isAlive: boolean
  /** A machine is on its way and may do. */
  readonly isExpected: boolean
}

/** Answers pods that no node takes with a claim for a new machine. */
export function provisionerActor(): Controller<Pod, PendingSeen, { readonly do: 'claim' }> {
  const pending = (cache: Cache) => cache.list<Pod>(PodKind).filter(isUnschedulable).map(keyOf)
  return {
    name: 'simulated-provisioner',
    kind: PodKind,
    summary: false,
    accepts: (pod) => isUnschedulable(pod as Pod),
    wakes: [
      { kind: NodePoolKind, toKeys: (_pool, cache) => pending(cache) },
      { kind: NodeClaimKind, toKeys: (_claim, cache) => pending(cache) },
      { kind: DeploymentKind, toKeys: (object, cache) => (object.metadata.name === 'karpenter' ? pending(cache) : []) },
    ],
    async observe({ cache }, pod) {
      const pools = cache.list<NodePool>(NodePoolKind).filter((pool) => isTrue(pool, 'Ready') && !pool.metadata.deletionTimestamp)
      const claims = cache.list<NodeClaim>(NodeClaimKind)
      const isGuarded = JSON.stringify(pod.spec?.affinity ?? {}).includes(POOL_LABEL)
      return {
        pod,
        pool: isGuarded ? undefined : pools.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))[0],
        isAlive: isRunning(cache, 'karpenter'),
        isExpected: claims.some((claim) => !isTrue(claim, 'Ready') && !claim.metadata.deletionTimestamp),
      }
    },
    decide({ pool, isAlive, isExpected }) {
      if (!isAlive || !pool || isExpected) return waiting('NotYet', 'No pool can take it, or a machine is coming')
      return act<{ do: 'claim' }>({ do: 'claim' })
    },
    async act({ objects }, { pod, pool }) {
      const { metadata, spec } = pool!
      const name = `${metadata.name}-${shortHash(pod.metadata.uid ?? pod.metadata.name, 5)}`
      const template = spec?.template
      const claim = {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodeClaim',
        metadata: {
          name,
          labels: { ...template?.metadata?.labels, ...simulated, [POOL_LABEL]: metadata.name },
          finalizers: [CLAIM_FINALIZER],
          ownerReferences: [ownerReference(pool!, { blockOwnerDeletion: true })],
        },
        spec: { nodeClassRef: template?.spec?.nodeClassRef, requirements: template?.spec?.requirements ?? [], taints: template?.spec?.taints ?? [], resources: { requests: { cpu: `${cpuOf(pod)}m` } } },
      }
      try {
        await objects.create(NodeClaimKind, claim as AnyObject)
      } catch (error) {
        if (!isKubeError(error, 'AlreadyExists')) throw error
      }
    },
    status: () => ({}),
  }
}

function isUnschedulable(pod: Pod): boolean {
  if (pod.spec?.nodeName !== undefined || pod.metadata.deletionTimestamp) return false
  return findCondition(pod.status?.conditions, 'PodScheduled')?.status === 'False'
}

interface ClaimSeen {
  readonly claim: Projected<NodeClaim>
  readonly node: Projected<Node> | undefined
  readonly pods: readonly Projected<Pod>[]
  readonly isAlive: boolean
  readonly nowMs: number
  readonly paceMs: number
}
type ClaimAction = { readonly do: 'launch' | 'register' | 'drain' | 'terminate' }

export function nodeClaimActor(stage: Stage): Controller<NodeClaim, ClaimSeen, ClaimAction> {
  return {
    name: 'simulated-nodeclaim',
    kind: NodeClaimKind,
    summary: false,
    wakes: [
      wakeOnController(NodeClaimKind),
      { kind: NodeKind, toKeys: (_node, cache) => cache.list(NodeClaimKind).map(keyOf) },
      { kind: PodKind, toKeys: (_pod, cache) => cache.list(NodeClaimKind).filter((claim) => claim.metadata.deletionTimestamp).map(keyOf) },
    ],
    async observe({ cache }, claim) {
      const nodeName = nodeNameOf(claim)
      return {
        claim,
        node: cache.get<Node>(NodeKind, { name: nodeName }),
        pods: cache.list<Pod>(PodKind).filter((pod) => pod.spec?.nodeName === nodeName && !pod.metadata.deletionTimestamp),
        isAlive: isRunning(cache, 'karpenter'),
        nowMs: stage.clock.now(),
        paceMs: stage.paceMs,
      }
    },
    decide: decideClaim,
    async act({ objects }, { claim, node, pods }, action) {
      if (action.do === 'launch') return await stage.ledger.add(instanceOf(claim))
      if (action.do === 'drain') {
        for (const pod of pods) await objects.delete(PodKind, keyOf(pod))
        return
      }
      if (action.do === 'terminate') {
        if (node) await objects.delete(NodeKind, keyOf(node))
        await stage.ledger.remove(instanceOf(claim).id)
        return await removeFinalizer(objects, NodeClaimKind, claim, CLAIM_FINALIZER)
      }
      await registerNode(objects.create.bind(objects), claim)
      await objects.patch(NodeKind, { name: nodeNameOf(claim) }, { type: 'merge', body: { status: nodeStatus(stage.clock.now()) } }, { subresource: 'status' })
    },
    status: reportClaim,
  }
}

function decideClaim({ claim, node, pods, isAlive, nowMs, paceMs }: ClaimSeen): Decision<ClaimAction> {
  if (!isAlive) return waiting('NoController', 'karpenter does not run')
  if (claim.metadata.deletionTimestamp) {
    if (!hasFinalizer(claim, CLAIM_FINALIZER)) return done
    return pods.length > 0 ? act<ClaimAction>({ do: 'drain' }) : act<ClaimAction>({ do: 'terminate' })
  }
  if (claim.status?.providerID === undefined) return act<ClaimAction>({ do: 'launch' })
  const left = secondsLeft(claim.metadata.creationTimestamp, paceMs, nowMs)
  if (left > 0) return waiting('Launching', 'The machine starts', left)
  return node ? done : act<ClaimAction>({ do: 'register' })
}

async function registerNode(create: (kind: typeof NodeKind, node: AnyObject) => Promise<unknown>, claim: NodeClaim): Promise<void> {
  const { type, zone, id, nodePool } = instanceOf(claim)
  const node: Node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeNameOf(claim),
      labels: { ...simulated, [POOL_LABEL]: nodePool, 'node.kubernetes.io/instance-type': type, 'topology.kubernetes.io/zone': zone, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': valueOf(claim, 'kubernetes.io/arch', 'amd64'), 'karpenter.sh/capacity-type': valueOf(claim, 'karpenter.sh/capacity-type', 'on-demand'), 'kubernetes.io/hostname': nodeNameOf(claim) },
      ownerReferences: [ownerReference(claim, { blockOwnerDeletion: true })],
    },
    spec: { providerID: `aws:///${zone}/${id}` },
  }
  try {
    await create(NodeKind, node)
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists')) throw error
  }
}

export function nodeStatus(nowMs: number) {
  const drafts = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'simulated' }] as const
  return { allocatable: { cpu: '1900m', memory: '7Gi', pods: '58' }, capacity: { cpu: '2', memory: '8Gi', pods: '58' }, conditions: conditionList(undefined, drafts, nowMs), nodeInfo: undefined }
}

function valueOf({ spec }: NodeClaim, key: string, fallback: string): string {
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
  const isArm = valueOf(claim, 'kubernetes.io/arch', 'amd64') === 'arm64'
  return {
    id: `i-sim${shortHash(claim.metadata.name, 12)}`,
    nodePool: claim.metadata.labels?.[POOL_LABEL] ?? 'default',
    type: isArm ? 'm7g.large' : 'm7i.large',
    zone: valueOf(claim, 'topology.kubernetes.io/zone', 'simulated-1a'),
  }
}

function reportClaim({ claim, node, isAlive, nowMs }: ClaimSeen) {
  if (!isAlive || claim.metadata.deletionTimestamp) return {}
  const { id, zone } = instanceOf(claim)
  const up = node ? 'True' : 'Unknown'
  const drafts = [
    { type: 'Launched', status: 'True', reason: 'Simulated' },
    { type: 'Registered', status: up, reason: 'Simulated' },
    { type: 'Initialized', status: up, reason: 'Simulated' },
    { type: 'Ready', status: up, reason: 'Simulated' },
  ] as const
  return { fields: { providerID: `aws:///${zone}/${id}`, ...(node ? { nodeName: node.metadata.name } : {}), conditions: conditionList(claim.status?.conditions, drafts, nowMs, claim.metadata.generation) } }
}
