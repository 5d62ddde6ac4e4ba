// How one step of a teardown, or the whole of it, ends, and what is reported meanwhile. Pure.
import type { TeardownStatus, TeardownStep } from '#api'
import { toTimestamp } from '#lib'
import { type Decision, done, waiting } from '#runtime'
import type { ObservedTeardown, TeardownAction, Thing } from './observed.ts'

export interface TeardownDecision {
  readonly decision: Decision<TeardownAction>
  readonly status: TeardownStatus
  readonly isOver: boolean
  readonly summary: string
}

interface Ending {
  readonly state: TeardownStep['state']
  readonly message: string
  readonly leftovers?: readonly string[]
  /** Under another name than the step's own. */
  readonly name?: string
}

/** The step that stands for all that need the workload API, once that is given up. */
export const WORKLOAD_STEP = 'workload'
const CLOUD_STEP = 'cluster/cloud'
const BALANCER_STEP = 'cluster/load-balancers'
/** Replaced by what the cloud itself lists, where it can be searched. */
export const BALANCER_OF = 'load balancer of '

export function next(observed: ObservedTeardown, ending: Ending, nowMs: number): TeardownDecision {
  const current = observed.current!
  const name = ending.name ?? current.step.name
  const step: TeardownStep = {
    name,
    state: ending.state,
    message: ending.message,
    startedAt: current.startedAt,
    endedAt: toTimestamp(nowMs),
  }
  const ended = [...observed.ended.filter((one) => one.name !== name), step]
  const leftovers = [...new Set([...observed.leftovers, ...(ending.leftovers ?? [])])]
  return {
    decision: waiting('TearingDown', `${name}: ${ending.message}`, 0.1),
    status: statusOf({ ...observed, ended, leftovers, current: undefined }),
    isOver: false,
    summary: ending.message,
  }
}

export function running(
  observed: ObservedTeardown,
  decision: Decision<TeardownAction>,
  summary: string,
): TeardownDecision {
  return { decision, status: statusOf(observed, summary), isOver: false, summary }
}

export function over(observed: ObservedTeardown, summary: string): TeardownDecision {
  return { decision: done, status: statusOf({ ...observed, current: undefined }), isOver: true, summary }
}

export function statusOf(observed: ObservedTeardown, message?: string): TeardownStatus {
  const { current } = observed
  const now: TeardownStep[] = current
    ? [{ name: current.step.name, state: 'Running', startedAt: current.startedAt, ...(message ? { message } : {}) }]
    : []
  return {
    startedAt: observed.startedAt,
    ...(observed.unreachableSince ? { unreachableSince: observed.unreachableSince } : {}),
    steps: [...observed.ended.filter((one) => one.name !== current?.step.name), ...now],
    ...(observed.leftovers.length > 0 ? { leftovers: observed.leftovers } : {}),
  }
}

export function describeEnd({ ended, leftovers }: Pick<ObservedTeardown, 'ended' | 'leftovers'>): string {
  if (leftovers.length > 0) return `Given up with a record: ${leftovers.join(', ')}`
  const gaveUp = unfinished(ended)
  return gaveUp.length > 0 ? `Given up: ${gaveUp.join(', ')}` : 'Everything was removed'
}

/** Whether something may be left that nothing removed. */
export function isIncomplete({ steps = [], leftovers = [] }: TeardownStatus): boolean {
  return leftovers.length > 0 || unfinished(steps).length > 0
}

/** Steps that did not do their work, unless a search of the cloud found nothing of what they would have removed. */
function unfinished(ended: readonly TeardownStep[]): readonly string[] {
  const isSearched = ended.some(({ name, state }) => name === CLOUD_STEP && state === 'Done')
  return ended
    .filter(({ name, state }) => state === 'GaveUp' || name === WORKLOAD_STEP)
    .filter(({ name }) => !(isSearched && name === BALANCER_STEP))
    .map(({ name }) => name)
}

export function describeThings(things: readonly Thing[]): string {
  const kinds = [...new Set(things.map((thing) => thing.kind.kind))]
  const isOneKind = kinds.length === 1
  const names = things.map(({ kind, key }) => (isOneKind ? key.name : `${kind.kind} ${key.name}`)).sort()
  const shown = names.length > 3 ? [...names.slice(0, 3), '…'] : names
  return `${things.length} ${isOneKind ? kinds[0] : 'objects'} (${shown.join(', ')})`
}

export const describeThing = (thing: Thing): string =>
  `${thing.kind.kind} ${thing.key.namespace ? `${thing.key.namespace}/` : ''}${thing.key.name}`
