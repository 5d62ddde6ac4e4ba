// Plays the part of Karpenter that looks after classes and pools: both become ready while its Deployment is available.
import { type AnyObject, isTrue } from '#api'
import type { Projected } from '#kube'
import { act, addFinalizer, type Controller, done, hasFinalizer, removeFinalizer, waiting } from '#runtime'
import { conditionList, type Stage, wakeAll } from '../actor.ts'
import { EC2NodeClassKind, NodeClaimKind, NodeClassKind, NodePoolKind } from '../names.ts'
import { CLASS_FINALIZER, isAlive, type NodeClaim, type NodePool, wakeOnController } from './objects.ts'

interface NodeClass extends AnyObject {
  readonly spec?: { readonly role?: string }
  readonly status?: { readonly conditions?: unknown; readonly instanceProfile?: string }
}

interface ObservedClass {
  readonly one: Projected<NodeClass>
  readonly isAlive: boolean
  readonly isUsed: boolean
  readonly nowMs: number
}
const classKindOf = ({ isAutoMode }: Stage) => (isAutoMode ? NodeClassKind : EC2NodeClassKind)

type Hold = { readonly do: 'hold' | 'let-go' }

/** With a role the instance profile is Karpenter's own: it makes it, and deletes it with the class. */
export function nodeClassActor(stage: Stage): Controller<NodeClass, ObservedClass, Hold> {
  const kind = classKindOf(stage)
  // Profiles of Auto Mode are EKS's own.
  const profile = (one: Projected<NodeClass>) => (stage.isAutoMode ? undefined : profileOf(one))
  return {
    name: `simulated-${kind.kind.toLowerCase()}`,
    kind,
    summary: false,
    wakes: [wakeOnController(kind), wakeAll(kind, NodeClaimKind)],
    async observe({ cache }, one) {
      const isUsed = cache
        .list<NodeClaim>(NodeClaimKind)
        .some((claim) => claim.spec?.nodeClassRef?.name === one.metadata.name)
      return { one, isAlive: isAlive(stage, cache), isUsed, nowMs: stage.clock.now() }
    },
    decide({ one, isAlive, isUsed }) {
      if (!isAlive) return waiting('NoController', 'karpenter does not run')
      const isHeld = hasFinalizer(one, CLASS_FINALIZER)
      const isMade = profile(one) === one.status?.instanceProfile
      if (!one.metadata.deletionTimestamp) return isHeld && isMade ? done : act<Hold>({ do: 'hold' })
      return isHeld && !isUsed ? act<Hold>({ do: 'let-go' }) : done
    },
    async act({ objects }, { one }, action) {
      const id = profile(one)
      if (action.do === 'hold') {
        if (id) await stage.ledger.hold({ kind: 'instance profile', id })
        return await addFinalizer(objects, kind, one, CLASS_FINALIZER)
      }
      if (id) await stage.ledger.remove(id)
      await removeFinalizer(objects, kind, one, CLASS_FINALIZER)
    },
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
      const instanceProfile = profile(one)
      const conditions = conditionList(one.status?.conditions, drafts, nowMs, one.metadata.generation)
      return { fields: { conditions, ...(instanceProfile ? { instanceProfile } : {}) } }
    },
  }
}

const profileOf = ({ metadata, spec }: Projected<NodeClass>): string | undefined =>
  spec?.role ? `${metadata.name}_simulated` : undefined

interface ObservedPool {
  readonly pool: Projected<NodePool>
  readonly isAlive: boolean
  readonly isClassReady: boolean
  readonly nowMs: number
}

export function nodePoolActor(stage: Stage): Controller<NodePool, ObservedPool, never> {
  const kind = classKindOf(stage)
  return {
    name: 'simulated-nodepool',
    kind: NodePoolKind,
    summary: false,
    wakes: [wakeOnController(NodePoolKind), wakeAll(NodePoolKind, kind)],
    async observe({ cache }, pool) {
      const name = pool.spec?.template?.spec?.nodeClassRef?.name ?? ''
      const one = cache.get(kind, { name })
      return {
        pool,
        isAlive: isAlive(stage, cache),
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
