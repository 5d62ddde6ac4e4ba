// Decides the next step of taking add-ons away. Pure. Every step is bounded: it ends done, skipped, or given up with a
// record of what was left, and the teardown of a deleted Cluster as a whole always ends.
import { toTimestamp } from '#lib'
import { act, stalled, waiting } from '#runtime'
import { decideCloud, decideRemoval, describeSurvey, SWEEP_LIMIT_MS } from './teardown-cloud.ts'
import {
  BALANCER_OF,
  describeEnd,
  describeThing,
  describeThings,
  next,
  over,
  running,
  statusOf,
  type TeardownJudgement,
  WORKLOAD_STEP,
} from './teardown-end.ts'
import type { StepSight, TeardownAction, TeardownSeen } from './teardown-seen.ts'

export type { TeardownJudgement } from './teardown-end.ts'

/** How long a silent workload API is waited for before the search by tag takes the place of the steps. */
export const UNREACHABLE_LIMIT_MS = 180_000
/** How long deletions may wait for a controller that is not running. */
export const DEAD_CONTROLLER_MS = 60_000
/** Nodes that did not go once are not waited for that long again; nor is the garbage collector. */
const STUCK_MS = 60_000
const KARPENTER_FINALIZERS = ['karpenter.sh/termination', 'karpenter.k8s.aws/termination']
const FLUX_FINALIZERS = ['finalizers.fluxcd.io']

export function judgeTeardown(seen: TeardownSeen, nowMs: number): TeardownJudgement {
  if (seen.finished !== undefined) return over(seen, seen.finished)
  if (seen.isEmpty) return over({ ...seen, ended: [] }, 'Nothing was installed')
  const { current } = seen
  if (!current) return over(seen, describeEnd(seen))
  const { step, sight, startedAt } = current
  if (step.type === 'cloud' && seen.survey) return decideCloud(seen, seen.survey, Date.parse(startedAt), nowMs)
  const needsWorkload = step.type !== 'sets' && step.type !== 'gate' && step.type !== 'cloud'
  if (!seen.isWorkloadOpen && needsWorkload) return judgeSilence(seen, nowMs)
  if (!sight) return running(seen, waiting('TearingDown', `Looking at ${step.name}`), `Looking at ${step.name}`)
  return judgeStep(seen, sight, Date.parse(startedAt), nowMs)
}

/** The API does not answer. A missing kubeconfig never comes back; a silent API gets a few minutes. */
function judgeSilence(seen: TeardownSeen, nowMs: number): TeardownJudgement {
  const since = seen.unreachableSince ?? toTimestamp(nowMs)
  const leftMs = Date.parse(since) + UNREACHABLE_LIMIT_MS - nowMs
  const silent = { ...seen, unreachableSince: since }
  const message = 'The workload API does not answer'
  // The cluster stays: what is in it can be removed as soon as its API answers again.
  if (seen.cause === 'wish') return running(silent, waiting('WorkloadUnreachable', message, 60), message)
  if (!seen.isWorkloadAbsent && leftMs > 0) {
    const decision = waiting('WorkloadUnreachable', message, Math.min(15, Math.ceil(leftMs / 1000)))
    return { ...running(silent, decision, message), status: statusOf(silent) }
  }
  return next(silent, { name: WORKLOAD_STEP, state: 'Skipped', message: 'The workload API is gone' }, nowMs)
}

function judgeStep(seen: TeardownSeen, sight: StepSight, startedMs: number, nowMs: number): TeardownJudgement {
  const { step, left } = sight
  if (left.length === 0) return next(seen, { state: 'Done', message: 'Nothing left' }, nowMs)
  if (step.type === 'gate')
    return running(seen, act<TeardownAction>({ do: 'close-gate', stage: step.stage }), 'Closing the gate')
  if (sight.inUse.length > 0) {
    const message = `Still used by ${sight.inUse.join(', ')}`
    if (seen.cause === 'cluster')
      return next(seen, { state: 'Skipped', message: `${message}; it goes with the cluster` }, nowMs)
    return running(seen, waiting('StillInUse', message, 60), message)
  }
  if (step.type === 'definitions' && hasStuckNodes(seen))
    return next(seen, { state: 'Skipped', message: 'Nodes are left whose records would hang' }, nowMs)
  const timeoutMs = isAboutNodes(step) && hasStuckNodes(seen) ? Math.min(step.timeoutMs, STUCK_MS) : step.timeoutMs
  const waitedMs = nowMs - startedMs
  const undeleted = left.filter((thing) => !thing.isDeleting)
  const message = `${describeThings(left)} left`
  if (step.type === 'node-pools' && undeleted.length === 0)
    return next(seen, { state: 'Done', message: `${left.length} deleted` }, nowMs)
  if (undeleted.length > 0 && (step.type !== 'node-claims' || waitedMs >= timeoutMs / 2)) {
    const where = step.type === 'sets' ? 'home' : 'workload'
    const foreground = step.type === 'node-pools' ? { foreground: true } : {}
    // What is refused or made again and again must not keep the teardown from ending. Balancers are found by tag later.
    const limitMs = step.type === 'load-balancers' ? timeoutMs : 2 * timeoutMs
    if (seen.cause === 'wish' || waitedMs < limitMs)
      return running(seen, act<TeardownAction>({ do: 'delete', things: undeleted, where, ...foreground }), message)
  }
  if (seen.cause === 'wish' && waitedMs >= timeoutMs) return stuck(seen, sight, message)
  const isDead = sight.isControllerAlive === false && waitedMs >= DEAD_CONTROLLER_MS
  if (isDead && seen.cause === 'cluster') return judgeDead(seen, sight, message, startedMs, nowMs)
  if (waitedMs >= timeoutMs) {
    const text = `${message} after ${Math.round(timeoutMs / 1000)}s`
    const of = step.type === 'load-balancers' ? BALANCER_OF : ''
    const leftovers = left.map((thing) => `${of}${describeThing(thing)}`)
    return next(seen, { state: 'GaveUp', message: text, leftovers }, nowMs)
  }
  const limit = sight.isControllerAlive === false ? DEAD_CONTROLLER_MS : timeoutMs
  return running(seen, waiting('TearingDown', message, Math.min(3, Math.max(0.1, (limit - waitedMs) / 1000))), message)
}

/** The cluster stays: there is no need to end, and giving up would leave machines without a controller. */
function stuck(seen: TeardownSeen, { isControllerAlive }: StepSight, message: string): TeardownJudgement {
  const why = isControllerAlive === false ? '; the controller that must finish it does not run' : ''
  const hint =
    'Look at the objects named: finalizers, pods that may not be disrupted, budgets; or ask for the stage again'
  return running(seen, stalled('RemovalStuck', `${message}${why}`, hint, 60), `${message}${why}`)
}

const isAboutNodes = ({ type }: { readonly type: string }) => type.startsWith('node-')
const hasStuckNodes = ({ ended }: TeardownSeen) =>
  ended.some((one) => one.state === 'GaveUp' && one.name.includes('/node-'))

/**
 * No controller will finish these deletions: machines are found by tag, then the finalizers are taken off, those of the
 * Nodes too, because a claim waits for its Node. The garbage collector gets time to follow before anything is given up.
 */
function judgeDead(
  seen: TeardownSeen,
  sight: StepSight,
  message: string,
  startedMs: number,
  nowMs: number,
): TeardownJudgement {
  const { step, left, nodes = [] } = sight
  const isOfClaims = step.type === 'node-claims'
  if (isOfClaims && !seen.survey)
    return running(seen, waiting('TearingDown', `${message}; looking for instances by tag`, 5), message)
  const sweptMs = startedMs + DEAD_CONTROLLER_MS + (isOfClaims ? SWEEP_LIMIT_MS : 0)
  const survey = isOfClaims ? seen.survey : undefined
  const removed = survey && decideRemoval(seen, survey, sweptMs - nowMs, 'that a dead controller left')
  if (removed) return removed
  const leftovers = [...seen.leftovers, ...(survey ? describeSurvey(survey) : [])]
  const noted = { ...seen, leftovers: [...new Set(leftovers)] }
  const things = [...left, ...nodes]
  const mayAct = nowMs < sweptMs + SWEEP_LIMIT_MS
  const undeleted = things.filter((thing) => !thing.isDeleting)
  if (undeleted.length > 0 && mayAct)
    return running(noted, act<TeardownAction>({ do: 'delete', things: undeleted, where: 'workload' }), message)
  const finalizers = step.type === 'release' || step.type === 'objects' ? FLUX_FINALIZERS : KARPENTER_FINALIZERS
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
