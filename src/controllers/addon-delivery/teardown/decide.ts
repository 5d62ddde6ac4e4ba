// Decides the next step of taking add-ons away. Pure. Every step is bounded: it ends done, skipped, or given up with a
// record of what was left, and the teardown of a deleted Cluster as a whole always ends.
import { toTimestamp } from '#lib'
import { act, stalled, waiting } from '#runtime'
import { CONFIRM_REMOVAL_ANNOTATION } from '../names.ts'
import { decideCloud, decideRemoval, describeSurvey, SWEEP_LIMIT_MS } from './cloud.ts'
import {
  BALANCER_OF,
  describeEnd,
  describeThing,
  describeThings,
  next,
  over,
  running,
  statusOf,
  type TeardownDecision,
  WORKLOAD_STEP,
} from './end.ts'
import type { ObservedStep, ObservedTeardown, TeardownAction } from './observed.ts'

/** How long a silent workload API is waited for before the search by tag takes the place of the steps. */
export const UNREACHABLE_LIMIT_MS = 180_000
/** How long deletions may wait for a controller that is not running. */
export const DEAD_CONTROLLER_MS = 60_000
/** Nodes that did not go once are not waited for that long again; nor is the garbage collector. */
export const STUCK_MS = 60_000

export function decideTeardown(observed: ObservedTeardown, nowMs: number): TeardownDecision {
  if (observed.finished !== undefined) return over(observed, observed.finished)
  if (observed.isEmpty) return over({ ...observed, ended: [] }, 'Nothing was installed')
  if (observed.unconfirmed) return decideUnconfirmed(observed, observed.unconfirmed)
  const { current } = observed
  if (!current) return over(observed, describeEnd(observed))
  const { step, observedStep, startedAt } = current
  if (step.where === 'cloud' && observed.survey)
    return decideCloud(observed, observed.survey, Date.parse(startedAt), nowMs)
  const needsWorkload = step.where === 'workload'
  if (!observed.isWorkloadOpen && needsWorkload) return decideUnreachable(observed, nowMs)
  if (!observedStep)
    return running(observed, waiting('TearingDown', `Looking at ${step.name}`), `Looking at ${step.name}`)
  return decideStep(observed, observedStep, Date.parse(startedAt), nowMs)
}

const MOST_NAMED = 10

/** The cluster lives, and so do its pods: a person decides. */
function decideUnconfirmed(observed: ObservedTeardown, pods: readonly string[]): TeardownDecision {
  const more = pods.length > MOST_NAMED ? ` and ${pods.length - MOST_NAMED} more` : ''
  const stages = observed.going?.join(',') ?? ''
  const message = `Without ${stages} these pods have nowhere to go: ${pods.slice(0, MOST_NAMED).join(', ')}${more}`
  const hint = `Make room for them, or confirm it with the annotation ${CONFIRM_REMOVAL_ANNOTATION}: ${stages} on the AddonDelivery; to keep the add-on, ask for it again`
  return running(observed, stalled('RemovalUnconfirmed', message, hint, CONFIRM_RETRY_SECONDS), message)
}

/** Pods and nodes are not watched here. */
const CONFIRM_RETRY_SECONDS = 30

/** The API does not answer. A missing kubeconfig never comes back; a silent API gets a few minutes. */
function decideUnreachable(observed: ObservedTeardown, nowMs: number): TeardownDecision {
  const since = observed.unreachableSince ?? toTimestamp(nowMs)
  const leftMs = Date.parse(since) + UNREACHABLE_LIMIT_MS - nowMs
  const silent = { ...observed, unreachableSince: since }
  const message = 'The workload API does not answer'
  // The cluster stays: what is in it can be removed as soon as its API answers again.
  if (observed.cause === 'stages') return running(silent, waiting('WorkloadUnreachable', message, 60), message)
  if (!observed.isWorkloadAbsent && leftMs > 0) {
    const decision = waiting('WorkloadUnreachable', message, Math.min(15, Math.ceil(leftMs / 1000)))
    return { ...running(silent, decision, message), status: statusOf(silent) }
  }
  return next(silent, { name: WORKLOAD_STEP, state: 'Skipped', message: 'The workload API is gone' }, nowMs)
}

const MOST_HOLDERS = 5

function decideStep(
  observed: ObservedTeardown,
  observedStep: ObservedStep,
  startedMs: number,
  nowMs: number,
): TeardownDecision {
  const { step, left, heldBy = [] } = observedStep
  if (left.length === 0) return next(observed, { state: 'Done', message: 'Nothing left' }, nowMs)
  if (step.type === 'gate')
    return running(observed, act<TeardownAction>({ do: 'close-gate', stage: step.stage }), 'Closing the gate')
  if (observedStep.inUse.length > 0) {
    const message = `Still used by ${observedStep.inUse.join(', ')}`
    if (observed.cause === 'cluster')
      return next(observed, { state: 'Skipped', message: `${message}; it goes with the cluster` }, nowMs)
    return running(observed, waiting('StillInUse', message, 60), message)
  }
  if (step.needsNodesGone && hasStuckNodes(observed))
    return next(observed, { state: 'Skipped', message: 'Nodes are left whose records would hang' }, nowMs)
  const timeoutMs = step.isOfNodes && hasStuckNodes(observed) ? Math.min(step.timeoutMs, STUCK_MS) : step.timeoutMs
  const waitedMs = nowMs - startedMs
  const undeleted = left.filter((thing) => !thing.isDeleting)
  const held = heldBy.length > 0 ? `; held by ${heldBy.slice(0, MOST_HOLDERS).join(', ')}` : ''
  const message = `${describeThings(left)} left${held}`
  if (step.endsWhenDeleting && undeleted.length === 0)
    return next(observed, { state: 'Done', message: `${left.length} deleted` }, nowMs)
  if (undeleted.length > 0 && (!step.isLeftToController || waitedMs >= timeoutMs / 2)) {
    const where = step.where === 'home' ? 'home' : 'workload'
    const foreground = step.endsWhenDeleting ? { foreground: true } : {}
    // What is refused or made again and again must not keep the teardown from ending. Balancers are found by tag later.
    const limitMs = step.type === 'load-balancers' ? timeoutMs : 2 * timeoutMs
    if (observed.cause === 'stages' || waitedMs < limitMs)
      return running(observed, act<TeardownAction>({ do: 'delete', things: undeleted, where, ...foreground }), message)
  }
  if (observed.cause === 'stages' && waitedMs >= timeoutMs) return stuck(observed, observedStep, message)
  const isDead = observedStep.isControllerAlive === false && waitedMs >= DEAD_CONTROLLER_MS
  if (isDead && observed.cause === 'cluster')
    return decideWithoutController(observed, observedStep, message, startedMs, nowMs)
  if (waitedMs >= timeoutMs) {
    const text = `${message} after ${Math.round(timeoutMs / 1000)}s`
    const of = step.type === 'load-balancers' ? BALANCER_OF : ''
    const leftovers = left.map((thing) => `${of}${describeThing(thing)}`)
    return next(observed, { state: 'GaveUp', message: text, leftovers }, nowMs)
  }
  const limit = observedStep.isControllerAlive === false ? DEAD_CONTROLLER_MS : timeoutMs
  return running(
    observed,
    waiting('TearingDown', message, Math.min(3, Math.max(0.1, (limit - waitedMs) / 1000))),
    message,
  )
}

/** The cluster stays: there is no need to end, and giving up would leave machines without a controller. */
function stuck(observed: ObservedTeardown, { isControllerAlive }: ObservedStep, message: string): TeardownDecision {
  const why = isControllerAlive === false ? '; the controller that must finish it does not run' : ''
  const hint =
    'Look at the objects named: finalizers, pods that may not be disrupted, budgets; or ask for the stage again'
  return running(observed, stalled('RemovalStuck', `${message}${why}`, hint, 60), `${message}${why}`)
}

const hasStuckNodes = ({ ended }: ObservedTeardown) =>
  ended.some((one) => one.state === 'GaveUp' && one.name.includes('/node-'))

/**
 * No controller will finish these deletions: machines are found by tag, then the finalizers are taken off, those of the
 * Nodes too, because a claim waits for its Node. The garbage collector gets time to follow before anything is given up.
 */
function decideWithoutController(
  observed: ObservedTeardown,
  observedStep: ObservedStep,
  message: string,
  startedMs: number,
  nowMs: number,
): TeardownDecision {
  const { step, left, nodes = [] } = observedStep
  if (step.isSurveyed && !observed.survey)
    return running(observed, waiting('TearingDown', `${message}; looking for instances by tag`, 5), message)
  const sweptMs = startedMs + DEAD_CONTROLLER_MS + (step.isSurveyed ? SWEEP_LIMIT_MS : 0)
  const survey = step.isSurveyed ? observed.survey : undefined
  const removed = survey && decideRemoval(observed, survey, sweptMs - nowMs, 'that a dead controller left')
  if (removed) return removed
  const leftovers = [...observed.leftovers, ...(survey ? describeSurvey(survey) : [])]
  const noted = { ...observed, leftovers: [...new Set(leftovers)] }
  const things = [...left, ...nodes]
  const mayAct = nowMs < sweptMs + SWEEP_LIMIT_MS
  const undeleted = things.filter((thing) => !thing.isDeleting)
  if (undeleted.length > 0 && mayAct)
    return running(noted, act<TeardownAction>({ do: 'delete', things: undeleted, where: 'workload' }), message)
  const { finalizers = [] } = step
  const held = things.filter((thing) => thing.finalizers.some((name) => finalizers.includes(name)))
  if (held.length > 0 && mayAct) {
    const text = `${message}; the controller is not running, finalizers are taken off`
    return running(noted, act<TeardownAction>({ do: 'strip-finalizers', things: held, finalizers }), text)
  }
  if (nowMs < sweptMs + STUCK_MS) return running(noted, waiting('TearingDown', message, 2), message)
  return next(
    noted,
    { state: 'GaveUp', message: `${message}; the controller is not running`, leftovers: left.map(describeThing) },
    nowMs,
  )
}
