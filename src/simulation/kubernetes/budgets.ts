// Plays the disruption controller: a PodDisruptionBudget says how many of its pods may go now.
import { type AnyObject, isTrue, keyOf, PodKind } from '#api'
import type { Projected } from '#kube'
import { matchesSelector } from '#lib'
import { type Controller, done } from '#runtime'
import { PodDisruptionBudgetKind } from '../names.ts'
import type { Pod } from './placement.ts'

export interface Budget extends AnyObject {
  readonly spec?: {
    readonly selector?: Parameters<typeof matchesSelector>[0]
    readonly minAvailable?: number | string
    readonly maxUnavailable?: number | string
  }
  readonly status?: { readonly disruptionsAllowed?: number }
}

interface ObservedBudget {
  readonly budget: Projected<Budget>
  readonly pods: readonly Projected<Pod>[]
}

export function budgetActor(): Controller<Budget, ObservedBudget, never> {
  return {
    name: 'simulated-poddisruptionbudget',
    kind: PodDisruptionBudgetKind,
    summary: false,
    wakes: [
      {
        kind: PodKind,
        toKeys: (pod, cache) =>
          cache
            .list<Budget>(PodDisruptionBudgetKind)
            .filter((budget) => covers(budget, pod))
            .map(keyOf),
      },
    ],
    async observe({ cache }, budget) {
      return { budget, pods: cache.list<Pod>(PodKind).filter((pod) => covers(budget, pod)) }
    },
    decide: () => done,
    act: async () => undefined,
    status: ({ budget, pods }) => ({ fields: budgetStatus(budget, pods) }),
  }
}

/** A budget without a selector covers nothing. */
export const covers = ({ metadata, spec }: Budget, pod: AnyObject): boolean =>
  spec?.selector !== undefined &&
  metadata.namespace === pod.metadata.namespace &&
  matchesSelector(spec.selector, pod.metadata.labels ?? {})

export function budgetStatus({ spec }: Budget, pods: readonly Pod[]) {
  const expectedPods = pods.filter(({ status }) => !['Succeeded', 'Failed'].includes(status?.phase ?? '')).length
  const currentHealthy = pods.filter((pod) => !pod.metadata.deletionTimestamp && isTrue(pod, 'Ready')).length
  const desiredHealthy =
    spec?.maxUnavailable === undefined
      ? numberOf(spec?.minAvailable ?? 1, expectedPods)
      : Math.max(0, expectedPods - numberOf(spec.maxUnavailable, expectedPods))
  const disruptionsAllowed = Math.max(0, currentHealthy - desiredHealthy)
  return { expectedPods, currentHealthy, desiredHealthy, disruptionsAllowed }
}

/** Percentages are rounded up. */
const numberOf = (value: number | string, all: number): number =>
  typeof value === 'string' && value.endsWith('%') ? Math.ceil((Number(value.slice(0, -1)) / 100) * all) : Number(value)
