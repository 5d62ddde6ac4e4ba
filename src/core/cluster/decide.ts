// What core Cluster API does with a Cluster, for the embedded home: claims the two objects it refers to, takes over the
// endpoint, and deletes in order: MachinePools, control plane, infrastructure.
import { type AnyObject, type Endpoint, pauseOf, readEndpoint } from '#api'
import { fieldsOf } from '#lib'
import { act, type Decision, done, hasFinalizer, lifecycleOf, names, waiting } from '#runtime'
import { decideClaims, decidePartDeletion, type Part, type PartAction } from '../referenced-objects.ts'
import { isInitialized, isProvisioned, type Observed } from './observe.ts'

export const CORE_FINALIZER = 'cluster.cluster.x-k8s.io'

export type Action =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' | 'probe' }
  | PartAction
  | { readonly do: 'delete-workers'; readonly workers: readonly AnyObject[] }
  | { readonly do: 'set-endpoint'; readonly endpoint: Endpoint }

const PROBE_AGAIN_SECONDS = 15

export const isPaused = ({ facts, object }: Observed): boolean => pauseOf(facts, object) !== undefined

export function decideCluster(observed: Observed): Decision<Action> {
  const { object, facts } = observed
  switch (lifecycleOf(object, CORE_FINALIZER, pauseOf(facts, object))) {
    case 'released':
    case 'paused':
      return done
    case 'moved':
      return act({ do: 'remove-finalizer' })
    case 'deleting':
      return decideDelete(observed)
  }
  if (!hasFinalizer(object, CORE_FINALIZER)) return act({ do: 'add-finalizer' })

  const claims = decideClaims([observed.infrastructure, observed.controlPlane], object, facts.name)
  if (claims) return claims
  const endpoint = endpointOf(observed)
  if (endpoint && !facts.endpoint && isProvisioned(observed)) return act({ do: 'set-endpoint', endpoint })
  if (isInitialized(observed) && observed.kubeconfig !== undefined && observed.probe.is === 'unknown')
    return act({ do: 'probe' })
  if (observed.probe.is === 'failed') return waiting('ProbeFailed', observed.probe.message, PROBE_AGAIN_SECONDS)
  return done
}

/** With EKS the control plane has it; without one, that of the infrastructure is used. */
function endpointOf({ controlPlane, infrastructure }: Observed): Endpoint | undefined {
  const endpointIn = (part: Part | undefined) =>
    readEndpoint(fieldsOf((part?.object as { spec?: unknown } | undefined)?.spec)['controlPlaneEndpoint'])
  return endpointIn(controlPlane) ?? endpointIn(infrastructure)
}

function decideDelete(observed: Observed): Decision<Action> {
  const { object, workers } = observed
  const left = workers.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  if (left.length > 0) return act({ do: 'delete-workers', workers: left })
  if (workers.length > 0)
    return waiting(
      'Deleting',
      `Waiting for MachinePool ${names(workers.map(({ metadata }) => metadata))} to be deleted`,
    )
  const parts = [observed.controlPlane, observed.infrastructure]
  return decidePartDeletion(parts, object) ?? act({ do: 'remove-finalizer' })
}
