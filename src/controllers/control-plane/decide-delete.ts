// How a control plane goes: add-ons and load balancers first, while its API still answers; then what runs nodes on it;
// then EKS itself.
// Every step is bounded: it ends, or it stalls with every way out.
import { CONTROL_PLANE_FINALIZER, isDeletedForMove } from '#api'
import { act, type Decision, done, names, stalled, waiting } from '#runtime'
import { strangerOwning } from '../cluster/apply.ts'
import { secondsLeft } from '../cluster/deadline.ts'
import { decideHold } from '../cluster/direct-delete.ts'
import type { Action } from './decide.ts'
import { keepAlive } from './keep-alive.ts'
import type { Observed } from './observe.ts'

/** Add-ons bound each of their own steps below this; it is for the case that no controller tears them down. */
export const ADDON_TEARDOWN_LIMIT_SECONDS = 3600

export function decideDelete(seen: Observed): Decision<Action> {
  const { object, cluster, apply, facts } = seen
  if (!object.metadata.finalizers?.includes(CONTROL_PLANE_FINALIZER)) return done
  const release = act<Action>({ do: 'remove-finalizer' })
  if (isDeletedForMove(object)) return release

  const held = decideHold(object, cluster, cluster?.controlPlaneRef, seen.nowMs)
  if (held) return held
  const addons = waitForAddons(seen)
  if (addons) return keepAlive(seen) ?? addons
  const clearing = clearCluster(seen)
  if (clearing) return keepAlive(seen) ?? clearing
  const workers = seen.workers.filter((worker) => !worker.deleting)
  if (workers.length > 0) return act({ do: 'delete-workers', workers })
  if (seen.workers.length > 0) return waiting('WaitingForWorkers', `Waiting for ${names(seen.workers)} to be deleted`)

  if (!apply) return sweepNetwork(seen) ?? release
  if (strangerOwning(apply, object)) return release
  if (!facts.deleting) return act({ do: 'delete-apply' })
  const { state } = facts
  if (state.is === 'failed') return stalled('ControlPlaneDeletionFailed', state.message, state.hint)
  return waiting('Destroying', state.is === 'progressing' ? state.message : `Waiting for ${apply.metadata.name} to go`)
}

/** A delivery that was torn down has done this; without one it is done here, while nodes and controllers live. */
function clearCluster({
  object,
  apply,
  facts,
  deliveries,
  memory: { cleared },
}: Observed): Decision<Action> | undefined {
  if (!apply || facts.deleting || deliveries.some(({ tornDown }) => tornDown)) return undefined
  if (object.status?.initialization?.controlPlaneInitialized !== true || cleared.is === 'yes') return undefined
  if (cleared.is === 'unknown') return act({ do: 'clear-cluster', phase: 'before' })
  return waiting('ClearingCluster', cleared.message, cleared.retryAfterSeconds)
}

/** Interfaces and security groups that were in use until EKS and its nodes were gone: they would hold the VPC. */
function sweepNetwork({ object, memory: { swept } }: Observed): Decision<Action> | undefined {
  if (object.status?.initialization?.controlPlaneInitialized !== true || swept.is === 'yes') return undefined
  if (swept.is === 'unknown') return act({ do: 'clear-cluster', phase: 'after' })
  return waiting('ClearingNetwork', swept.message, swept.retryAfterSeconds)
}

/** EKS never goes before the nodes that delivered add-ons made: without their controller these would run on for ever. */
function waitForAddons({ object, deliveries, nowMs }: Observed): Decision<Action> | undefined {
  const left = deliveries.filter((delivery) => !delivery.tornDown)
  const since = object.metadata.deletionTimestamp
  const leftSeconds = secondsLeft(since, ADDON_TEARDOWN_LIMIT_SECONDS, nowMs)
  const details = left.map(({ message }) => message).filter((message) => message !== '')
  if (left.length > 0 && leftSeconds > 0)
    return waiting(
      'WaitingForAddons',
      [`Waiting for the add-ons of ${names(left)} to be removed`, ...details].join(': '),
      leftSeconds,
    )
  const delivered = left.filter(({ mayBeDelivered }) => mayBeDelivered)
  if (delivered.length === 0) return undefined
  const hours = ADDON_TEARDOWN_LIMIT_SECONDS / 3600
  return stalled(
    'AddonsNotRemoved',
    [`The add-ons of ${names(delivered)} were not removed within ${hours} h, so EKS is kept`, ...details].join(': '),
    [
      'run a capt manager with the add-on controllers and look at the AddonDelivery;',
      'to destroy EKS without removing them, terminate the nodes that Karpenter made, then delete the AddonDelivery',
      'and its finalizer infrastructure.cluster.x-k8s.io/addondelivery',
    ].join(' '),
  )
}
