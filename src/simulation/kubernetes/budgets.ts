// Plays the disruption controller: a PodDisruptionBudget reports how many of its pods may go now.
import { type AnyObject, isTrue, keyOf, PodKind } from '#api'
import type { Projected } from '#kube'
import { matchesSelector } from '#lib'
import { type Controller, done, waiting } from '#runtime'
import { type Stage, secondsLeft } from '../actor.ts'
import { PodDisruptionBudgetKind } from '../names.ts'
import type { Pod } from './placement.ts'

export interface Budget extends AnyObject {
  readonly spec?: {
    readonly selector?: Parameters<typeof matchesSelector>[0]
    readonly minAvailable?: number | string
    readonly maxUnavailable?: number | string
  }
  readonly status?: {
    readonly disruptionsAllowed?: number
    /** Pods that were evicted, by name, with the time: the eviction writes it, and it is removed here. */
    readonly disruptedPods?: Readonly<Record<string, string>>
  }
}

/** An evicted pod that is not deleted within this time counts again. */
const EVICTION_MS = 120_000

interface ObservedBudget {
  readonly budget: Projected<Budget>
  readonly pods: readonly Projected<Pod>[]
  readonly nowMs: number
}

export function budgetActor({ clock }: Pick<Stage, 'clock'>): Controller<Budget, ObservedBudget, never> {
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
      return { budget, pods: cache.list<Pod>(PodKind).filter((pod) => covers(budget, pod)), nowMs: clock.now() }
    },
    decide({ budget, pods, nowMs }) {
      const evicted = Object.values(evictedPods(budget, pods, nowMs)).toSorted()
      const left = secondsLeft(evicted[0], EVICTION_MS, nowMs)
      return evicted.length === 0 ? done : waiting('Evicting', 'Evicted pods are not deleted yet', left)
    },
    act: async () => undefined,
    status: ({ budget, pods, nowMs }) => ({ fields: budgetStatus(budget, pods, nowMs) }),
  }
}

/** A budget without a selector covers nothing. */
export const covers = ({ metadata, spec }: Budget, pod: AnyObject): boolean =>
  spec?.selector !== undefined &&
  metadata.namespace === pod.metadata.namespace &&
  matchesSelector(spec.selector, pod.metadata.labels ?? {})

export function budgetStatus(budget: Budget, pods: readonly Pod[], nowMs: number) {
  const { spec, metadata } = budget
  const disruptedPods = evictedPods(budget, pods, nowMs)
  const expectedPods = pods.filter(({ status }) => !['Succeeded', 'Failed'].includes(status?.phase ?? '')).length
  const isStaying = ({ metadata: { name, deletionTimestamp } }: Pod) =>
    deletionTimestamp === undefined && !Object.hasOwn(disruptedPods, name)
  const currentHealthy = pods.filter((pod) => isStaying(pod) && isTrue(pod, 'Ready')).length
  const desiredHealthy =
    spec?.maxUnavailable === undefined
      ? numberOf(spec?.minAvailable ?? 1, expectedPods)
      : Math.max(0, expectedPods - numberOf(spec.maxUnavailable, expectedPods))
  const disruptionsAllowed = Math.max(0, currentHealthy - desiredHealthy)
  const counts = { expectedPods, currentHealthy, desiredHealthy, disruptionsAllowed }
  const isEmpty = Object.keys(disruptedPods).length === 0
  return { ...counts, disruptedPods: isEmpty ? undefined : disruptedPods, observedGeneration: metadata.generation }
}

/** Evicted pods whose deletion has not been observed yet. */
function evictedPods({ status }: Budget, pods: readonly Pod[], nowMs: number): Readonly<Record<string, string>> {
  const staying = new Set(pods.filter((pod) => !pod.metadata.deletionTimestamp).map(({ metadata }) => metadata.name))
  const isCounted = ([name, at]: [string, string]) => staying.has(name) && secondsLeft(at, EVICTION_MS, nowMs) > 0
  return Object.fromEntries(Object.entries(status?.disruptedPods ?? {}).filter(isCounted))
}

/** Percentages are rounded up. */
const numberOf = (value: number | string, all: number): number =>
  typeof value === 'string' && value.endsWith('%') ? Math.ceil((Number(value.slice(0, -1)) / 100) * all) : Number(value)
