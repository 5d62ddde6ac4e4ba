// Reads everything that a decision about a CAPTMachineDeployment needs, from caches.
import { type AnyObject, CAPTMachine, CAPTMachineDeployment, CAPTMachineSet, type KindRef } from '#api'
import type { Cache, Projected } from '#kube'
import { matchesSelector } from '#lib'
import { controllerOf } from '#runtime'
import { isControlledBy, nextAvailable, toMachineFacts } from '../machine-set/facts.ts'
import type { MachineFacts } from '../machine-set/replicas.ts'
import { BY_CLUSTER, namedCluster } from '../shared/owner-cluster.ts'
import type { ClusterPart } from '../shared/wakes.ts'
import { isSameTemplate, nextSet, revisionOf } from './template.ts'

export const FACTS_READ = ['uid', 'paused', 'deleting'] as const

/** A set of the deployment with its machines. */
export interface OwnSet {
  readonly object: Projected<CAPTMachineSet>
  readonly isCurrent: boolean
  readonly revision: number
  readonly machines: readonly Projected<CAPTMachine>[]
  readonly facts: readonly MachineFacts[]
}

export interface Observed {
  readonly object: Projected<CAPTMachineDeployment>
  readonly clusterName: string | undefined
  readonly cluster: (ClusterPart<typeof FACTS_READ> & { readonly object: AnyObject }) | undefined
  readonly sets: readonly OwnSet[]
  /** Sets without an owner that the selector matches. */
  readonly orphans: readonly Projected<CAPTMachineSet>[]
  /** A set has the name that the next one would get. */
  readonly isNameTaken: boolean
  /** Deployments of the same Cluster that would own the same machines. */
  readonly overlapping: readonly string[]
  readonly nextAvailableSeconds: number | undefined
  readonly nowMs: number
}

export function observeMachineDeployment(
  cache: Cache,
  clusterKind: KindRef,
  object: Projected<CAPTMachineDeployment>,
  nowMs: number,
): Observed {
  const namespace = object.metadata.namespace ?? ''
  const { clusterName, cluster } = namedCluster(cache, clusterKind, object)
  const query = { index: BY_CLUSTER, value: `${namespace}/${clusterName}` }
  const all = cache.list<CAPTMachineSet>(CAPTMachineSet, query)
  const own = all.filter((set) => isControlledBy(set, object))
  const machines = own.length === 0 ? [] : cache.list<CAPTMachine>(CAPTMachine, query)
  const { minReadySeconds } = object.spec
  const sets = toSets(object, own, machines, nowMs)
  return {
    object,
    clusterName,
    cluster,
    sets,
    orphans: all.filter(
      (set) =>
        !controllerOf(set) &&
        set.metadata.deletionTimestamp === undefined &&
        matchesSelector(object.spec.selector, set.spec.template.metadata?.labels),
    ),
    isNameTaken: cache.get(CAPTMachineSet, { namespace, name: nextSet(object).name }) !== undefined,
    overlapping: overlappingOf(cache.list<CAPTMachineDeployment>(CAPTMachineDeployment, query), object),
    nextAvailableSeconds: nextAvailable(
      sets.flatMap((set) => set.machines),
      minReadySeconds,
      nowMs,
    ),
    nowMs,
  }
}

/** Of two sets with the same template the older one is current. */
function toSets(
  { spec }: CAPTMachineDeployment,
  own: readonly Projected<CAPTMachineSet>[],
  machines: readonly Projected<CAPTMachine>[],
  nowMs: number,
): readonly OwnSet[] {
  const byAge = own.toSorted((a, b) => revisionOf(a) - revisionOf(b) || (a.metadata.name < b.metadata.name ? -1 : 1))
  const current = byAge.find(
    (set) => set.metadata.deletionTimestamp === undefined && isSameTemplate(set.spec.template, spec.template),
  )
  return byAge.map((set) => {
    const its = machines.filter((machine) => isControlledBy(machine, set))
    return {
      object: set,
      isCurrent: set === current,
      revision: revisionOf(set),
      machines: its,
      facts: its.map((machine) => toMachineFacts(machine, spec.minReadySeconds, nowMs)),
    }
  })
}

function overlappingOf(all: readonly CAPTMachineDeployment[], object: CAPTMachineDeployment): readonly string[] {
  const labelsOf = ({ spec }: CAPTMachineDeployment) => spec.template.metadata?.labels
  return all
    .filter((other) => other.metadata.uid !== object.metadata.uid && other.metadata.deletionTimestamp === undefined)
    .filter(
      (other) =>
        matchesSelector(object.spec.selector, labelsOf(other)) ||
        matchesSelector(other.spec.selector, labelsOf(object)),
    )
    .map(({ metadata }) => metadata.name)
    .toSorted()
}
