// Deletion of a control plane: add-ons and load balancers first, while its API server still answers; then the objects
// that run nodes on it; then EKS itself. Every step is bounded: it ends, or it stalls with every way out.
import { type AnyObject, isAdopted } from '#api'
import { act, type Decision, names, stalled, waiting } from '#runtime'
import { foreignOwner } from '../shared/apply.ts'
import { secondsLeft } from '../shared/deadline.ts'
import { decideHold } from '../shared/direct-delete.ts'
import type { Action } from './decide.ts'
import { decideRefresh } from './kubeconfig/refresh-timer.ts'
import type { Delivery, Observed, Worker } from './observe.ts'

/** Applies when no controller removes the add-ons; their own steps have shorter limits. */
export const ADDON_TEARDOWN_LIMIT_SECONDS = 3600

export function decideDelete(observed: Observed): Decision<Action> {
  const { object, cluster, apply, facts } = observed
  const release = act<Action>({ do: 'remove-finalizer' })

  const held = decideHold(object, cluster, cluster?.controlPlaneRef, observed.nowMs)
  if (held) return held
  const addons = waitForAddons(observed)
  if (addons) return decideRefresh(observed) ?? addons
  const clearing = clearCluster(observed)
  if (clearing) return decideRefresh(observed) ?? clearing
  const workers = observed.workers.filter((worker) => !worker.deleting && !worker.owned)
  if (workers.length > 0) return act({ do: 'delete-workers', workers })
  if (observed.workers.length > 0)
    return waiting('WaitingForWorkers', `Waiting for ${names(observed.workers.map(toText))} to be deleted`)

  // An adopted cluster stays as it is, with everything that carries its tags.
  if (isAdopted(object)) return release
  if (!apply) return sweepNetwork(observed) ?? release
  if (foreignOwner(apply, object)) return release
  if (!facts.deleting) return act({ do: 'delete-apply' })
  const { state } = facts
  if (state.is === 'failed') return stalled('ControlPlaneDeletionFailed', state.message, state.hint)
  return waiting('Destroying', state.is === 'progressing' ? state.message : `Waiting for ${apply.metadata.name} to go`)
}

const toText = ({ kind, name }: Worker) => ({ name: `${kind.kind} ${name}` })

/** The teardown of a delivery does this; without a delivery it is done here, while nodes and controllers still run. */
function clearCluster({
  object,
  apply,
  facts,
  deliveries,
  results: { cleared },
}: Observed): Decision<Action> | undefined {
  if (!apply || facts.deleting || deliveries.some(({ tornDown }) => tornDown)) return undefined
  if (object.status?.initialization?.controlPlaneInitialized !== true || cleared.is === 'yes') return undefined
  if (cleared.is === 'unknown') return act({ do: 'clear-cluster', phase: 'before' })
  return waiting('ClearingCluster', cleared.message, cleared.retryAfterSeconds)
}

/** Interfaces and security groups that were in use until EKS and its nodes were gone: they would block the VPC. */
function sweepNetwork({ object, results: { swept } }: Observed): Decision<Action> | undefined {
  if (object.status?.initialization?.controlPlaneInitialized !== true || swept.is === 'yes') return undefined
  if (swept.is === 'unknown') return act({ do: 'clear-cluster', phase: 'after' })
  return waiting('ClearingNetwork', swept.message, swept.retryAfterSeconds)
}

/** EKS is not deleted before the nodes that add-ons made: without their controller nothing would terminate them. */
export function waitForAddons({
  object,
  deliveries,
  nowMs,
}: {
  readonly object: AnyObject
  readonly deliveries: readonly Delivery[]
  readonly nowMs: number
}): Decision<never> | undefined {
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
