// What the controllers of a Cluster's parts have in common: deletion, move and pause come before the spec, and machines,
// sets and deployments belong to a Cluster.
import type { AnyObject, KindRef } from '#api'
import type { Objects } from '#kube'
import {
  act,
  addFinalizer,
  controllerOf,
  type Decision,
  done,
  hasFinalizer,
  isOwnedBy,
  lifecycleOf,
  removeFinalizer,
  stalled,
  waiting,
} from '#runtime'
import { setBlockMove } from './block-move.ts'
import { decidePaused } from './pause.ts'

interface LifecycleAction {
  readonly do: 'add-finalizer' | 'remove-finalizer' | 'unblock-move'
}

interface Phases<A> {
  /** Why it is paused; undefined when it is not. */
  readonly pause: string | undefined
  /** A run is on, so a paused object must not be moved. */
  readonly isRunning: boolean
  /** What goes on during a pause. */
  readonly paused?: () => Decision<A> | undefined
  readonly deleting: () => Decision<A>
  readonly active: () => Decision<A>
}

export function decideLifecycle<A>(
  object: AnyObject,
  finalizer: string,
  { pause, isRunning, paused, deleting, active }: Phases<A>,
): Decision<A | LifecycleAction> {
  switch (lifecycleOf(object, finalizer, pause)) {
    case 'released':
      return done
    case 'moved':
      return act({ do: 'remove-finalizer' })
    case 'paused':
      return paused?.() ?? decidePaused(object, isRunning)
    case 'deleting':
      return deleting()
    case 'active':
      return active()
  }
}

export function actOnLifecycle(
  objects: Objects,
  kind: KindRef,
  object: AnyObject,
  finalizer: string,
  action: LifecycleAction['do'],
): Promise<void> {
  switch (action) {
    case 'add-finalizer':
      return addFinalizer(objects, kind, object, finalizer)
    case 'remove-finalizer':
      return removeFinalizer(objects, kind, object, finalizer)
    case 'unblock-move':
      return setBlockMove(objects, kind, object, false)
  }
}

interface Member {
  readonly object: AnyObject
  /** Undefined when nothing names a Cluster. */
  readonly clusterName: string | undefined
  readonly cluster: { readonly name: string; readonly deleting: boolean; readonly object: AnyObject } | undefined
  /** Core sets the references of what it made. */
  readonly isUnderMachine?: boolean
}

/** Undefined once the object is owned and held, and its Cluster stays. */
export function decideMembership(
  { object, clusterName, cluster, isUnderMachine = false }: Member,
  finalizer: string,
): Decision<{ readonly do: 'own' | 'add-finalizer' }> | undefined {
  if (clusterName === undefined)
    return stalled(
      'ClusterMissing',
      `${object.kind} ${object.metadata.name} belongs to no Cluster`,
      'set the label cluster.x-k8s.io/cluster-name to the name of a Cluster of this namespace',
    )
  if (!cluster) return waiting('WaitingForCluster', `Waiting for Cluster ${clusterName} of this namespace`)
  if (!isUnderMachine && !controllerOf(object) && !isOwnedBy(object, cluster.object)) return act({ do: 'own' })
  if (!hasFinalizer(object, finalizer)) return act({ do: 'add-finalizer' })
  return cluster.deleting ? waiting('ClusterDeleting', `Cluster ${cluster.name} is being deleted`) : undefined
}
