// Plays the part of Karpenter that answers pods which no node takes: it claims a new machine from a ready pool.
import { type AnyObject, ConfigMapKind, DeploymentKind, findCondition, isTrue, keyOf, NodeKind, PodKind } from '#api'
import { type Cache, ignore, type Projected } from '#kube'
import { shortHash } from '#lib'
import { act, type Controller, ownerReference, waiting } from '#runtime'
import type { Stage } from '../actor.ts'
import { faultOf, isFaultMap } from '../faults.ts'
import { bears, choose, cpuOf, type Node, type Pod } from '../kubernetes/placement.ts'
import { NodeClaimKind, NodePoolKind, simulated } from '../names.ts'
import { chooseType, resourcesOf, TYPE_LABEL, typeOfClaim } from './instance-types.ts'
import { toNode } from './node-claims.ts'
import { CLAIM_FINALIZER, isAlive, type NodeClaim, type NodePool, POOL_LABEL } from './objects.ts'

interface ObservedPending {
  readonly pod: Projected<Pod>
  /** For a machine of the first pool that has one on which the pod finds a place. */
  readonly claim: NodeClaim | undefined
  readonly isAlive: boolean
  /** A machine is on its way and may do, or one is there that has room. */
  readonly isExpected: boolean
}

/** Answers pods that no node takes with a claim for a new machine. */
export function provisionerActor(
  stage: Pick<Stage, 'isAutoMode'>,
): Controller<Pod, ObservedPending, { readonly do: 'claim' }> {
  const pending = (cache: Cache) => cache.list<Pod>(PodKind).filter(isUnschedulable).map(keyOf)
  return {
    name: 'simulated-provisioner',
    kind: PodKind,
    summary: false,
    accepts: (pod) => isUnschedulable(pod as Pod),
    wakes: [
      // A place may be taken, or become free, by any of them.
      ...[PodKind, NodeKind, NodePoolKind, NodeClaimKind].map((kind) => ({
        kind,
        toKeys: (_changed: AnyObject, cache: Cache) => pending(cache),
      })),
      { kind: ConfigMapKind, toKeys: (object, cache) => (isFaultMap(object) ? pending(cache) : []) },
      { kind: DeploymentKind, toKeys: (object, cache) => (object.metadata.name === 'karpenter' ? pending(cache) : []) },
    ],
    async observe({ cache }, pod) {
      const pools = cache
        .list<NodePool>(NodePoolKind)
        .filter((pool) => isTrue(pool, 'Ready') && !pool.metadata.deletionTimestamp)
        .filter((pool) => faultOf(cache, pool).is !== 'dry' && takes(pool, pod))
      const claims = cache.list<NodeClaim>(NodeClaimKind)
      const hasPlace = choose(pod, cache.list<Node>(NodeKind), cache.list<Pod>(PodKind)).node !== undefined
      // Another one each time: a machine that was claimed for this pod may have been taken by another pod.
      const claimName = shortHash([pod, ...claims].map(({ metadata }) => metadata.uid).join(), 5)
      const isGuarded = JSON.stringify(pod.spec?.affinity ?? {}).includes(POOL_LABEL)
      const options = pools
        .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
        .flatMap((pool) => {
          const type = chooseType(pool, cpuOf(pod), claimsOf(pool, claims))
          return type === undefined ? [] : [toClaim(pool, `${pool.metadata.name}-${claimName}`, type, cpuOf(pod))]
        })
        .filter((claim) => choose(pod, [emptyNode(claim)], []).node !== undefined)
      const [claim] = isGuarded ? [] : options
      return {
        pod,
        claim,
        isAlive: isAlive(stage, cache),
        isExpected: hasPlace || claims.some((claim) => !isTrue(claim, 'Ready') && !claim.metadata.deletionTimestamp),
      }
    },
    decide({ claim, isAlive, isExpected }) {
      if (!isAlive || !claim || isExpected) return waiting('NotYet', 'No pool can take it, or a machine is coming')
      return act<{ do: 'claim' }>({ do: 'claim' })
    },
    async act({ objects }, { claim }) {
      if (claim) await objects.create(NodeClaimKind, claim as AnyObject).catch(ignore('AlreadyExists'))
    },
    status: () => ({}),
  }
}

/** A machine on which the pod would find no place either would be followed by another one, without end. */
const emptyNode = (claim: NodeClaim): Node => ({ ...toNode(claim), status: resourcesOf(typeOfClaim(claim)) })

function toClaim(pool: NodePool, name: string, type: string, millicpu: number): NodeClaim {
  const template = pool.spec?.template
  const { terminationGracePeriod } = template?.spec ?? {}
  const claim = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name,
      labels: { ...template?.metadata?.labels, ...simulated, [POOL_LABEL]: pool.metadata.name },
      finalizers: [CLAIM_FINALIZER],
      ownerReferences: [ownerReference(pool, { blockOwnerDeletion: true })],
    },
    spec: {
      nodeClassRef: template?.spec?.nodeClassRef,
      requirements: [
        ...(template?.spec?.requirements ?? []).filter(({ key }) => key !== TYPE_LABEL),
        { key: TYPE_LABEL, operator: 'In', values: [type] },
      ],
      taints: template?.spec?.taints ?? [],
      ...(terminationGracePeriod === undefined ? {} : { terminationGracePeriod }),
      resources: { requests: { cpu: `${millicpu}m` } },
    },
  }
  return claim as NodeClaim
}

/** A pod that names its pool gets a machine from that one or none, and only if it bears the taints. */
function takes({ metadata, spec }: NodePool, pod: Pod): boolean {
  const named = pod.spec?.nodeSelector?.[POOL_LABEL]
  const taints = spec?.template?.spec?.taints ?? []
  return (named === undefined || named === metadata.name) && taints.every((taint) => bears(pod, taint))
}

const claimsOf = ({ metadata }: NodePool, claims: readonly NodeClaim[]): readonly NodeClaim[] =>
  claims.filter((claim) => claim.metadata.labels?.[POOL_LABEL] === metadata.name)

function isUnschedulable(pod: Pod): boolean {
  if (pod.spec?.nodeName !== undefined || pod.metadata.deletionTimestamp) return false
  return findCondition(pod.status?.conditions, 'PodScheduled')?.status === 'False'
}
