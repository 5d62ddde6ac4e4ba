// Plays the part of Karpenter that looks after classes and pools: both become ready while its Deployment is available.
import { type AnyObject, keyOf } from '#api'
import type { Projected } from '#kube'
import { act, addFinalizer, type Controller, done, hasFinalizer, isTrue, removeFinalizer, waiting } from '#runtime'
import { conditionList, type Stage } from './actor.ts'
import { isRunning } from './flux-sources.ts'
import { CLASS_FINALIZER, type NodeClaim, type NodePool, wakeOnController } from './karpenter-objects.ts'
import { EC2NodeClassKind, NodeClaimKind, NodePoolKind } from './names.ts'

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
    wakes: [
      wakeOnController(EC2NodeClassKind),
      { kind: NodeClaimKind, toKeys: (_claim, cache) => cache.list(EC2NodeClassKind).map(keyOf) },
    ],
    async observe({ cache }, one) {
      const isUsed = cache
        .list<NodeClaim>(NodeClaimKind)
        .some((claim) => claim.spec?.nodeClassRef?.name === one.metadata.name)
      return { one, isAlive: isRunning(cache, 'karpenter'), isUsed, nowMs: stage.clock.now() }
    },
    decide({ one, isAlive, isUsed }) {
      if (!isAlive) return waiting('NoController', 'karpenter does not run')
      const isHeld = hasFinalizer(one, CLASS_FINALIZER)
      if (!one.metadata.deletionTimestamp) return isHeld ? done : act<Hold>({ do: 'hold' })
      return isHeld && !isUsed ? act<Hold>({ do: 'let-go' }) : done
    },
    act: ({ objects }, { one }, action) =>
      (action.do === 'hold' ? addFinalizer : removeFinalizer)(objects, EC2NodeClassKind, one, CLASS_FINALIZER),
    status({ one, isAlive, nowMs }) {
      if (!isAlive || one.metadata.deletionTimestamp) return {}
      const drafts = [
        'SubnetsReady',
        'SecurityGroupsReady',
        'AMIsReady',
        'InstanceProfileReady',
        'ValidationSucceeded',
        'Ready',
      ].map((type) => ({ type, status: 'True', reason: 'Simulated' }) as const)
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
    wakes: [
      wakeOnController(NodePoolKind),
      { kind: EC2NodeClassKind, toKeys: (_one, cache) => cache.list(NodePoolKind).map(keyOf) },
    ],
    async observe({ cache }, pool) {
      const name = pool.spec?.template?.spec?.nodeClassRef?.name ?? ''
      const one = cache.get(EC2NodeClassKind, { name })
      return {
        pool,
        isAlive: isRunning(cache, 'karpenter'),
        isClassReady: one !== undefined && isTrue(one, 'Ready'),
        nowMs: stage.clock.now(),
      }
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
