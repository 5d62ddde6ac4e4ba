// What is done about the machines, volumes and network objects with the cluster's tags: removed where that is
// allowed, and named exactly where it is not or where the cloud refuses. Bounded, so that the teardown ends. Pure.
import { act, waiting } from '#runtime'
import { BALANCER_OF, next, running, type TeardownDecision } from './end.ts'
import type { ObservedTeardown, Survey, TeardownAction } from './observed.ts'

/** How long the cloud may refuse to list or remove before that is recorded and the teardown goes on. */
export const SWEEP_LIMIT_MS = 300_000
/** When every step before has ended well, a cloud that cannot be listed is not waited for that long. */
export const WELL_LIMIT_MS = 30_000

/** The last step of a deleted Cluster. */
export function decideCloud(
  observed: ObservedTeardown,
  survey: Survey,
  startedMs: number,
  nowMs: number,
): TeardownDecision {
  const isWell = observed.ended.every((step) => step.state === 'Done')
  const limitMs = isWell && survey.faults.length > 0 ? WELL_LIMIT_MS : SWEEP_LIMIT_MS
  const removed = decideRemoval(observed, survey, startedMs + limitMs - nowMs, 'found by tag')
  if (removed) return removed
  const left = describeSurvey(survey)
  const kept = observed.leftovers.filter((text) => !isReplaced(text, survey))
  const isSearched = survey.network !== undefined || survey.instances.length > 0
  const state = left.length > 0 ? 'GaveUp' : isSearched ? 'Done' : 'Skipped'
  const message = left.length > 0 ? `${left.length} left` : isSearched ? 'Nothing left' : 'No cloud to search'
  return next({ ...observed, leftovers: kept }, { state, message, leftovers: left }, nowMs)
}

/** Lists again or removes, as long as there is time left for it; undefined when that is over or not needed. */
export function decideRemoval(
  observed: ObservedTeardown,
  { instances, network = [], faults }: Survey,
  leftMs: number,
  which: string,
): TeardownDecision | undefined {
  if (leftMs <= 0) return undefined
  const removable = observed.mayDeleteNetwork ? network.filter((one) => one.isRemovable) : []
  if (removable.length > 0) {
    const message = `Deleting ${removable.length} network objects ${which}`
    return running(observed, act<TeardownAction>({ do: 'remove-network', objects: removable }), message)
  }
  if (instances.length > 0 && observed.mayTerminate) {
    const message = `Terminating ${instances.length} instances ${which}`
    return running(observed, act<TeardownAction>({ do: 'terminate', instances }), message)
  }
  if (faults.length === 0) return undefined
  const message = faults.map((fault) => `${capitalized(fault.what)} cannot be looked for: ${fault.message}`).join('; ')
  return running(observed, waiting('InstancesUnknown', message, Math.min(15, Math.ceil(leftMs / 1000))), message)
}

/** What cannot be listed is reported too: the absence of a finding proves nothing. */
export function describeSurvey({ instances, volumes, profiles, network = [], faults }: Survey): readonly string[] {
  return [
    ...instances.map((id) => `instance ${id}`),
    ...volumes.map((id) => `volume ${id}`),
    ...profiles.map((id) => `instance profile ${id}`),
    ...network.map(({ kind, id }) => `${kind} ${id}`),
    ...faults.map(({ what, message }) => `${what} that could not be looked for (${message})`),
  ]
}

/** An earlier record about the cloud is replaced by a later survey of the same. */
function isReplaced(text: string, { network, faults }: Survey): boolean {
  const isKnown = (what: string) => !faults.some((fault) => fault.what === what)
  if (text.startsWith(BALANCER_OF)) return network !== undefined
  if (text.startsWith('instance profile ')) return isKnown('instance profiles')
  if (text.startsWith('instance ')) return isKnown('instances')
  if (text.startsWith('volume ')) return isKnown('volumes')
  return / that could not be looked for \(/.test(text)
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
