// Decides the next step for one CAPTMachineDeployment. Pure: same observation, same decision; time is in the observation.
import { type CAPTMachineSet, MACHINE_DEPLOYMENT_FINALIZER, pauseOf, TEMPLATE_HASH_LABEL } from '#api'
import { jsonEqual } from '#lib'
import { act, type Decision, names, stalled, waiting } from '#runtime'
import { decideLifecycle, decideMembership } from '../shared/lifecycle.ts'
import type { Observed, OwnSet } from './observe.ts'
import { decideProgress } from './progress.ts'
import { decideRollout, resolveStrategy } from './rollout.ts'
import { nextSet, revisionOf, toSetTemplate } from './template.ts'

export type Action =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' | 'unblock-move' | 'own' | 'count-collision' }
  | {
      readonly do: 'create-set'
      readonly name: string
      readonly hash: string
      readonly replicas: number
      readonly revision: number
    }
  | { readonly do: 'scale'; readonly set: CAPTMachineSet; readonly to: number }
  | { readonly do: 'update-set'; readonly set: CAPTMachineSet; readonly fields: object }
  | { readonly do: 'adopt'; readonly set: CAPTMachineSet }
  | { readonly do: 'set-revision'; readonly set: CAPTMachineSet | undefined; readonly revision: number }
  | { readonly do: 'delete-sets'; readonly sets: readonly CAPTMachineSet[] }

export function decide(observed: Observed): Decision<Action> {
  const { object, cluster } = observed
  return decideLifecycle<Action>(object, MACHINE_DEPLOYMENT_FINALIZER, {
    pause: pauseOf(cluster, object),
    isRunning: false,
    deleting: () => decideDelete(observed),
    active: () => decideDeployment(observed),
  })
}

function decideDelete({ sets }: Observed): Decision<Action> {
  const staying = sets.map(({ object }) => object).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  if (staying.length > 0) return act({ do: 'delete-sets', sets: staying })
  if (sets.length === 0) return act({ do: 'remove-finalizer' })
  const machines = sets.flatMap(({ facts }) => facts)
  const left = machines.length > 0 ? machines : sets.map(({ object }) => object.metadata)
  return waiting('DeletingMachines', `Waiting for ${names(left)} to be deleted`)
}

function decideDeployment(observed: Observed): Decision<Action> {
  const { clusterName, overlapping, orphans } = observed
  const outside = decideMembership(observed, MACHINE_DEPLOYMENT_FINALIZER)
  if (outside) return outside
  if (overlapping.length > 0)
    return stalled(
      'SelectorOverlap',
      `CAPTMachineDeployment ${overlapping.join(', ')} of Cluster ${clusterName} selects the same machines`,
      'delete one of them, and make it again with a label of its own in spec.selector and spec.template.metadata.labels',
    )
  if (orphans.length > 0) return act(...orphans.map((set): Action => ({ do: 'adopt', set })))
  return decideSets(observed)
}

function decideSets(observed: Observed): Decision<Action> {
  const { object, sets } = observed
  const { replicas, strategy, paused = false } = object.spec
  const { create, scale } = decideRollout({
    replicas,
    strategy: resolveStrategy(strategy, replicas),
    paused,
    sets: sets.map(toSetFacts),
  })
  const newest = Math.max(0, ...sets.map(({ revision }) => revision))
  const scaled = scale.map(({ name, to }): Action => {
    const { object: set } = sets.find((one) => one.object.metadata.name === name)!
    return { do: 'scale', set, to }
  })
  const made = create === undefined ? [] : [makeSet(observed, create, newest + 1)]
  if (made.length + scaled.length > 0) return act(...made, ...scaled)
  const kept = keepSets(observed, newest)
  return kept.length > 0 ? act(...kept) : decideProgress(observed)
}

const toSetFacts = ({ object, isCurrent, revision, facts }: OwnSet) => ({
  name: object.metadata.name,
  isCurrent,
  revision,
  replicas: object.spec.replicas,
  machines: facts.filter(({ isDeleting }) => !isDeleting).length,
  available: facts.filter(({ isAvailable }) => isAvailable).length,
  deleting: facts.filter(({ isDeleting }) => isDeleting).length,
})

/** A name that is taken gives another hash with the next count. */
function makeSet({ object, isNameTaken }: Observed, replicas: number, revision: number): Action {
  return isNameTaken ? { do: 'count-collision' } : { do: 'create-set', ...nextSet(object), replicas, revision }
}

/** Revisions, what sets take from the deployment in place, and the end of old history. */
function keepSets({ object, sets }: Observed, newest: number): readonly Action[] {
  const current = sets.find(({ isCurrent }) => isCurrent)
  const revision = !current ? newest : current.revision === newest && newest > 0 ? newest : newest + 1
  return [
    ...(current && current.revision !== revision
      ? [{ do: 'set-revision', set: current.object, revision } as const]
      : []),
    ...(current && revisionOf(object) !== revision ? [{ do: 'set-revision', set: undefined, revision } as const] : []),
    ...sets.flatMap((set): readonly Action[] => {
      const fields = setChange(object, set)
      return fields ? [{ do: 'update-set', set: set.object, fields }] : []
    }),
    ...oldHistory(object.spec.revisionHistoryLimit, sets),
  ]
}

/** The current set follows the template in place; every set follows the rules for its replicas. */
function setChange({ spec }: Observed['object'], { object: set, isCurrent }: OwnSet): object | undefined {
  const { deletePolicy, minReadySeconds } = spec
  const rules =
    set.spec.deletePolicy === deletePolicy && set.spec.minReadySeconds === minReadySeconds
      ? {}
      : { deletePolicy, minReadySeconds }
  const hash = set.spec.selector.matchLabels?.[TEMPLATE_HASH_LABEL] ?? ''
  const template = isCurrent ? toSetTemplate(spec.template, hash) : set.spec.template
  const changed = jsonEqual(template, set.spec.template) ? {} : { template }
  const fields = { ...rules, ...changed }
  return set.metadata.deletionTimestamp === undefined && Object.keys(fields).length > 0 ? fields : undefined
}

function oldHistory(limit: number, sets: readonly OwnSet[]): readonly Action[] {
  const ended = sets.filter(
    ({ object, isCurrent, machines }) =>
      !isCurrent &&
      object.spec.replicas === 0 &&
      machines.length === 0 &&
      object.metadata.deletionTimestamp === undefined,
  )
  const surplus = ended.slice(0, Math.max(0, ended.length - limit)).map(({ object }) => object)
  return surplus.length > 0 ? [{ do: 'delete-sets', sets: surplus }] : []
}
