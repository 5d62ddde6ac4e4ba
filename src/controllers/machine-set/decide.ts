// Decides the next step for one CAPTMachineSet. Pure: same observation, same decision.
import { type CAPTMachine, type CAPTMachineSet, IN_PLACE_FIELDS, MACHINE_SET_FINALIZER, pauseOf } from '#api'
import { jsonEqual } from '#lib'
import { act, type Decision, done, names, stalled, waiting } from '#runtime'
import { decideLifecycle, decideMembership } from '../shared/lifecycle.ts'
import { firstFailure } from './facts.ts'
import type { Observed } from './observe.ts'
import { decideReplicas } from './replicas.ts'

export type Action =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' | 'unblock-move' | 'own' }
  | { readonly do: 'create'; readonly count: number }
  | { readonly do: 'adopt' | 'release'; readonly machine: CAPTMachine }
  | { readonly do: 'delete'; readonly machines: readonly { readonly name: string; readonly uid: string }[] }
  | { readonly do: 'update'; readonly machine: CAPTMachine; readonly fields: object }

export function decide(observed: Observed): Decision<Action> {
  const { object, cluster } = observed
  return decideLifecycle<Action>(object, MACHINE_SET_FINALIZER, {
    pause: pauseOf(cluster, object),
    isRunning: false,
    deleting: () => decideDelete(observed),
    active: () => decideSet(observed),
  })
}

/** The machines go first: each drains its Node and destroys its instance. */
function decideDelete({ facts }: Observed): Decision<Action> {
  const machines = facts.filter(({ isDeleting }) => !isDeleting)
  if (machines.length > 0) return act({ do: 'delete', machines })
  if (facts.length > 0) return waiting('DeletingMachines', `Waiting for ${names(facts)} to be deleted`)
  return act({ do: 'remove-finalizer' })
}

function decideSet(observed: Observed): Decision<Action> {
  const { orphans, strays } = observed
  const outside = decideMembership(observed, MACHINE_SET_FINALIZER)
  if (outside) return outside
  const moves: readonly Action[] = [
    ...orphans.map((machine): Action => ({ do: 'adopt', machine })),
    ...strays.map((machine): Action => ({ do: 'release', machine })),
  ]
  if (moves.length > 0) return act(...moves)
  return decideMachines(observed)
}

function decideMachines(observed: Observed): Decision<Action> {
  const { object, machines, facts, spare } = observed
  const { replicas: wanted, deletePolicy: policy } = object.spec
  const { create, remove, withheld } = decideReplicas({ wanted, machines: facts, policy, spare })
  if (create > 0) return act({ do: 'create', count: create })
  if (remove.length > 0) return act({ do: 'delete', machines: remove })
  const updates = machines.flatMap((machine): readonly Action[] => {
    const fields = machine.metadata.deletionTimestamp ? undefined : inPlaceChange(object, machine)
    return fields ? [{ do: 'update', machine, fields }] : []
  })
  if (updates.length > 0) return act(...updates)

  const failure = firstFailure(machines)
  if (failure !== undefined)
    return stalled('MachineFailed', failure, 'correct the cause and retry its run, or delete the machine')
  if (withheld > 0)
    return waiting('WaitingForReplacement', `${withheld} machines stay until their replacement is available`)
  const available = facts.filter(({ isAvailable }) => isAvailable).length
  const active = facts.filter(({ isDeleting }) => !isDeleting).length
  if (available >= wanted && active === wanted) return done
  return waiting('Scaling', `${available} of ${wanted} machines are available`, observed.nextAvailableSeconds)
}

/** What a machine gets from its template without another instance; null removes a field. Undefined: it is as it should be. */
export function inPlaceChange({ spec }: CAPTMachineSet, machine: CAPTMachine): object | undefined {
  const changed = IN_PLACE_FIELDS.flatMap((field) => {
    const [wanted, current] = [spec.template.spec[field], machine.spec[field]]
    if (jsonEqual(wanted ?? null, current ?? null)) return []
    return [[field, replacement(wanted, current)] as const]
  })
  return changed.length === 0 ? undefined : Object.fromEntries(changed)
}

/** For a merge patch, in which keys that are gone are null. */
function replacement(wanted: unknown, current: unknown): unknown {
  if (wanted === undefined) return null
  if (typeof wanted !== 'object' || typeof current !== 'object' || current === null) return wanted
  return { ...Object.fromEntries(Object.keys(current).map((key) => [key, null])), ...wanted }
}
