// What core Cluster API does with a Cluster, for the embedded home: claims the two objects it refers to, takes over the
// endpoint, and deletes in order: MachinePools, control plane, infrastructure.
import { type AnyObject, CLUSTER_NAME_LABEL, type Endpoint, pauseOf } from '#api'
import { act, type Decision, done, hasFinalizer, isOwnedBy, lifecycleOf, names, waiting } from '#runtime'
import { isInitialized, isProvisioned, type Observed, type Part, specFieldsOf } from './observe.ts'

export const CORE_FINALIZER = 'cluster.cluster.x-k8s.io'

export type Action =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' | 'probe' }
  | { readonly do: 'claim' | 'delete'; readonly part: Part }
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

  const parts = [observed.infrastructure, observed.controlPlane].filter((part) => part !== undefined)
  const unclaimed = parts.filter((part) => part.object && !isClaimed(part.object, object))
  if (unclaimed.length > 0) return act(...unclaimed.map((part): Action => ({ do: 'claim', part })))
  const endpoint = endpointOf(observed)
  if (endpoint && !facts.endpoint && isProvisioned(observed)) return act({ do: 'set-endpoint', endpoint })
  if (isInitialized(observed) && observed.kubeconfig !== undefined && observed.probe.is === 'unknown')
    return act({ do: 'probe' })
  if (observed.probe.is === 'failed') return waiting('ProbeFailed', observed.probe.message, PROBE_AGAIN_SECONDS)
  return done
}

function isClaimed(object: AnyObject, cluster: AnyObject): boolean {
  return isOwnedBy(object, cluster) && object.metadata.labels?.[CLUSTER_NAME_LABEL] === cluster.metadata.name
}

/** The control plane knows it with EKS; an infrastructure that gives one is believed too. */
function endpointOf({ controlPlane, infrastructure }: Observed): Endpoint | undefined {
  for (const part of [controlPlane, infrastructure]) {
    const { host, port } = (specFieldsOf(part)['controlPlaneEndpoint'] ?? {}) as { host?: unknown; port?: unknown }
    if (typeof host === 'string' && host !== '' && typeof port === 'number' && port > 0) return { host, port }
  }
  return undefined
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
  for (const part of [observed.controlPlane, observed.infrastructure]) {
    if (!part?.object || !isOwnedBy(part.object, object)) continue
    const { kind, metadata } = part.object
    if (metadata.deletionTimestamp === undefined) return act({ do: 'delete', part })
    return waiting('Deleting', `Waiting for ${kind} ${metadata.name} to be deleted`)
  }
  return act({ do: 'remove-finalizer' })
}
