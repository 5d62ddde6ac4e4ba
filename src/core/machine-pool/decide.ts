// What core Cluster API does with a MachinePool, for the embedded home: claims the objects it refers to, takes over the
// name of the bootstrap Secret, and deletes them before itself.
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type ClusterFacts,
  type ContractRef,
  type Kind,
  type MachinePoolFacts,
  pauseOf,
} from '#api'
import type { Projected } from '#kube'
import { isPlainObject } from '#lib'
import { act, type Decision, done, hasFinalizer, isOwnedBy, lifecycleOf, waiting } from '#runtime'

export const MACHINE_POOL_CORE_FINALIZER = 'machinepool.cluster.x-k8s.io'

/** An object the MachinePool refers to. */
export interface Part {
  readonly ref: ContractRef
  /** Undefined when the embedded home does not serve it. */
  readonly kind: Kind | undefined
  readonly object: Projected<AnyObject> | undefined
}

export interface Observed {
  readonly object: Projected<AnyObject>
  readonly facts: MachinePoolFacts
  readonly cluster: Projected<AnyObject> | undefined
  readonly clusterFacts: ClusterFacts | undefined
  readonly infrastructure: Part | undefined
  readonly bootstrap: Part | undefined
}

export type Action =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' | 'adopt' }
  | { readonly do: 'claim' | 'delete'; readonly part: Part }
  | { readonly do: 'set-data-secret'; readonly name: string }

type Fields = Readonly<Record<string, unknown>>
const fieldsOf = (value: unknown): Fields => (isPlainObject(value) ? value : {})
export const statusFieldsOf = (part: Part | undefined): Fields =>
  fieldsOf((part?.object as { status?: unknown } | undefined)?.status)

export const pausedBy = ({ object, clusterFacts }: Observed): string | undefined => pauseOf(clusterFacts, object)

export function decideMachinePool(observed: Observed): Decision<Action> {
  const { object, cluster, facts } = observed
  switch (lifecycleOf(object, MACHINE_POOL_CORE_FINALIZER, pausedBy(observed))) {
    case 'released':
    case 'paused':
      return done
    case 'moved':
      return act({ do: 'remove-finalizer' })
    case 'deleting':
      return decideDelete(observed)
  }
  if (!cluster) return waiting('WaitingForCluster', `Waiting for Cluster ${facts.clusterName}`)
  if (!hasFinalizer(object, MACHINE_POOL_CORE_FINALIZER)) return act({ do: 'add-finalizer' })
  if (!isClaimed(object, cluster, facts.clusterName)) return act({ do: 'adopt' })
  const parts = [observed.bootstrap, observed.infrastructure].filter((part) => part !== undefined)
  const unclaimed = parts.filter((part) => part.object && !isClaimed(part.object, object, facts.clusterName))
  if (unclaimed.length > 0) return act(...unclaimed.map((part): Action => ({ do: 'claim', part })))
  const { dataSecretName } = statusFieldsOf(observed.bootstrap)
  if (facts.dataSecretName === undefined && typeof dataSecretName === 'string')
    return act({ do: 'set-data-secret', name: dataSecretName })
  return done
}

function isClaimed(object: AnyObject, owner: AnyObject, cluster: string): boolean {
  return isOwnedBy(object, owner) && object.metadata.labels?.[CLUSTER_NAME_LABEL] === cluster
}

function decideDelete(observed: Observed): Decision<Action> {
  for (const part of [observed.infrastructure, observed.bootstrap]) {
    if (!part?.object || !isOwnedBy(part.object, observed.object)) continue
    const { kind, metadata } = part.object
    if (metadata.deletionTimestamp === undefined) return act({ do: 'delete', part })
    return waiting('Deleting', `Waiting for ${kind} ${metadata.name} to be deleted`)
  }
  return act({ do: 'remove-finalizer' })
}
