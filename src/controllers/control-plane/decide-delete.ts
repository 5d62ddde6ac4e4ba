// How a control plane goes: add-ons first, while its API still answers; then what runs nodes on it; then EKS itself.
// Every step is bounded, so that deletion always ends.
import { CONTROL_PLANE_FINALIZER, isDeletedForMove } from '#api'
import { act, type Decision, done, names, stalled, waiting } from '#runtime'
import { strangerOwning } from '../cluster/apply.ts'
import { secondsLeft } from '../cluster/deadline.ts'
import { decideHold } from '../cluster/direct-delete.ts'
import type { Action } from './decide.ts'
import { keepAlive } from './keep-alive.ts'
import type { Observed } from './observe.ts'

/** Add-ons bound each of their own steps well below this; it is for the case that nobody tears them down. */
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
  const workers = seen.workers.filter((worker) => !worker.deleting)
  if (workers.length > 0) return act({ do: 'delete-workers', workers })
  if (seen.workers.length > 0) return waiting('WaitingForWorkers', `Waiting for ${names(seen.workers)} to be deleted`)

  if (!apply || strangerOwning(apply, object)) return release
  if (!facts.deleting) return act({ do: 'delete-apply' })
  const { state } = facts
  if (state.is === 'failed') return stalled('ControlPlaneDeletionFailed', state.message, state.hint)
  return waiting('Destroying', state.is === 'progressing' ? state.message : `Waiting for ${apply.metadata.name} to go`)
}

function waitForAddons({ object, deliveries, nowMs }: Observed): Decision<Action> | undefined {
  const left = deliveries.filter((delivery) => !delivery.tornDown)
  const since = object.metadata.deletionTimestamp
  const leftSeconds = secondsLeft(since, ADDON_TEARDOWN_LIMIT_SECONDS, nowMs)
  if (left.length === 0 || leftSeconds === 0) return undefined
  const details = left.map(({ message }) => message).filter((message) => message !== '')
  return waiting(
    'WaitingForAddons',
    [`Waiting for the add-ons of ${names(left)} to be removed`, ...details].join(': '),
    leftSeconds,
  )
}
