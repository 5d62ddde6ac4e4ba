// Reads everything that a decision about a CAPTMachineSet needs, from caches.
import { type AnyObject, CAPTMachine, CAPTMachineDeployment, CAPTMachineSet, type KindRef } from '#api'
import type { Cache, Projected } from '#kube'
import { matchesSelector } from '#lib'
import { controllerOf } from '#runtime'
import { minAvailable, resolveStrategy } from '../machine-deployment/rollout.ts'
import { BY_CLUSTER, namedCluster } from '../shared/owner-cluster.ts'
import type { ClusterPart } from '../shared/wakes.ts'
import { isControlledBy, nextAvailable, toMachineFacts } from './facts.ts'
import type { MachineFacts } from './replicas.ts'

export const FACTS_READ = ['uid', 'paused', 'deleting'] as const

export interface Observed {
  readonly object: Projected<CAPTMachineSet>
  readonly clusterName: string | undefined
  readonly cluster: (ClusterPart<typeof FACTS_READ> & { readonly object: AnyObject }) | undefined
  /** Its machines, those being deleted included. */
  readonly machines: readonly Projected<CAPTMachine>[]
  readonly facts: readonly MachineFacts[]
  /** Machines without an owner that its selector matches. */
  readonly orphans: readonly Projected<CAPTMachine>[]
  /** Machines of its own that its selector no longer matches. */
  readonly strays: readonly Projected<CAPTMachine>[]
  /** How many available machines may go now; undefined: any number. */
  readonly spare: number | undefined
  /** When the next healthy machine becomes available. */
  readonly nextAvailableSeconds: number | undefined
}

export function observeMachineSet(
  cache: Cache,
  clusterKind: KindRef,
  object: Projected<CAPTMachineSet>,
  nowMs: number,
): Observed {
  const namespace = object.metadata.namespace ?? ''
  const { selector, minReadySeconds } = object.spec
  const { clusterName, cluster } = namedCluster(cache, clusterKind, object)
  const value = `${namespace}/${clusterName}`
  const all = clusterName === undefined ? [] : cache.list<CAPTMachine>(CAPTMachine, { index: BY_CLUSTER, value })
  const own = all.filter((machine) => isControlledBy(machine, object))
  const matches = (machine: CAPTMachine) => matchesSelector(selector, machine.metadata.labels)
  const machines = own.filter((machine) => matches(machine) || machine.metadata.deletionTimestamp !== undefined)
  return {
    object,
    clusterName,
    cluster,
    machines,
    facts: machines.map((machine) => toMachineFacts(machine, minReadySeconds, nowMs)),
    orphans: all.filter(
      (machine) => !controllerOf(machine) && machine.metadata.deletionTimestamp === undefined && matches(machine),
    ),
    strays: own.filter((machine) => !machines.includes(machine)),
    spare: spareOf(cache, object, all, value, nowMs),
    nextAvailableSeconds: nextAvailable(machines, minReadySeconds, nowMs),
  }
}

/** The deployment decides the number of each set; no set removes an available machine that the others do not replace. */
function spareOf(
  cache: Cache,
  object: CAPTMachineSet,
  all: readonly CAPTMachine[],
  value: string,
  nowMs: number,
): number | undefined {
  const owner = controllerOf(object)
  if (owner?.kind !== CAPTMachineDeployment.kind) return undefined
  const key = { namespace: object.metadata.namespace ?? '', name: owner.name }
  const deployment = cache.get<CAPTMachineDeployment>(CAPTMachineDeployment, key)
  if (!deployment || deployment.metadata.uid !== owner.uid || deployment.metadata.deletionTimestamp) return undefined
  const { replicas, strategy, minReadySeconds } = deployment.spec
  const resolved = resolveStrategy(strategy, replicas)
  if (resolved.type === 'Recreate') return undefined
  const sets = cache
    .list<CAPTMachineSet>(CAPTMachineSet, { index: BY_CLUSTER, value })
    .filter((set) => controllerOf(set)?.uid === owner.uid)
  const available = all.filter(
    (machine) =>
      sets.some((set) => isControlledBy(machine, set)) && toMachineFacts(machine, minReadySeconds, nowMs).isAvailable,
  )
  return available.length - minAvailable(replicas, resolved)
}
