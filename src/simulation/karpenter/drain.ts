// Which pods Karpenter evicts from a node that goes: not those that must not be disrupted, and no more than their budgets allow.
// The termination grace period of the claim ends that. Pure.
import { parseDuration } from '#lib'
import { secondsLeft } from '../actor.ts'
import { type Budget, covers } from '../kubernetes/budgets.ts'
import type { Pod } from '../kubernetes/placement.ts'
import type { NodeClaim } from './objects.ts'

const DO_NOT_DISRUPT = 'karpenter.sh/do-not-disrupt'

/** Seconds until every pod may be evicted; undefined without an end. */
export function graceLeft({ metadata, spec }: NodeClaim, nowMs: number): number | undefined {
  const grace = spec?.terminationGracePeriod
  return grace === undefined ? undefined : secondsLeft(metadata.deletionTimestamp, parseDuration(grace), nowMs)
}

export function evictable<P extends Pod>(
  pods: readonly P[],
  budgets: readonly Budget[],
  isForced: boolean,
): readonly P[] {
  if (isForced) return pods
  const allowed = new Map(budgets.map((budget) => [budget, budget.status?.disruptionsAllowed ?? 0]))
  return pods.filter((pod) => {
    if (pod.metadata.annotations?.[DO_NOT_DISRUPT] === 'true') return false
    const covering = budgets.filter((budget) => covers(budget, pod))
    if (covering.some((budget) => allowed.get(budget) === 0)) return false
    for (const budget of covering) allowed.set(budget, allowed.get(budget)! - 1)
    return true
  })
}
