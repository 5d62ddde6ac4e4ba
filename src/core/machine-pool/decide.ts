// What core Cluster API does with a MachinePool, for the embedded home: claims the objects it refers to, takes over the
// name of the bootstrap Secret, and deletes them before itself.
import { type AnyObject, type ClusterFacts, type MachinePoolFacts, pauseOf } from '#api'
import type { Projected } from '#kube'
import { act, type Decision, done, hasFinalizer, lifecycleOf, waiting } from '#runtime'
import {
  decideClaims,
  decidePartDeletion,
  isClaimed,
  type Part,
  type PartAction,
  statusFieldsOf,
} from '../referenced-objects.ts'

export const MACHINE_POOL_CORE_FINALIZER = 'machinepool.cluster.x-k8s.io'

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
  | PartAction
  | { readonly do: 'set-data-secret'; readonly name: string }

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
  const claims = decideClaims([observed.bootstrap, observed.infrastructure], object, facts.clusterName)
  if (claims) return claims
  const { dataSecretName } = statusFieldsOf(observed.bootstrap)
  if (facts.dataSecretName === undefined && typeof dataSecretName === 'string')
    return act({ do: 'set-data-secret', name: dataSecretName })
  return done
}

function decideDelete({ object, infrastructure, bootstrap }: Observed): Decision<Action> {
  return decidePartDeletion([infrastructure, bootstrap], object) ?? act({ do: 'remove-finalizer' })
}
