// Decides the next step of taking add-ons away. Pure. Every step is bounded: it ends done, skipped, or given up with a
// record of what was left, and the teardown as a whole always ends.
import type { TeardownStatus, TeardownStep } from '#api'
import { toTimestamp } from '#lib'
import { act, type Decision, done, stalled, waiting } from '#runtime'
import type { StepSight, TeardownAction, TeardownSeen, Thing } from './teardown-seen.ts'

/** How long a silent workload API is waited for before the sweep by tag takes the place of the steps. */
export const UNREACHABLE_LIMIT_MS = 180_000
/** How long deletions may wait for a controller that is not running. */
export const DEAD_CONTROLLER_MS = 60_000
/** How long the cloud may refuse to list or terminate instances before that is recorded and the teardown goes on. */
const SWEEP_LIMIT_MS = 300_000
/** Nodes that did not go once are not waited for that long again. */
const STUCK_MS = 60_000
const KARPENTER_FINALIZERS = ['karpenter.sh/termination', 'karpenter.k8s.aws/termination']
const FLUX_FINALIZERS = ['finalizers.fluxcd.io']

export interface TeardownJudgement {
  readonly decision: Decision<TeardownAction>
  readonly status: TeardownStatus
  readonly isOver: boolean
  readonly summary: string
}

export function judgeTeardown(seen: TeardownSeen, nowMs: number): TeardownJudgement {
  if (seen.finished !== undefined) return over(seen, seen.ended, seen.finished)
  if (seen.isEmpty) return over(seen, [], 'Nothing was installed')
  const current = seen.current
  if (!current) return over(seen, seen.ended, describeEnd(seen))
  if (!seen.isWorkloadOpen && current.step.type !== 'sets' && current.step.type !== 'gate')
    return judgeSilence(seen, nowMs)
  const { sight } = current
  if (!sight)
    return running(seen, waiting('TearingDown', `Looking at ${current.step.name}`), `Looking at ${current.step.name}`)
  return judgeStep(seen, sight, Date.parse(current.startedAt), nowMs)
}

/** The API does not answer. A missing kubeconfig never comes back; a silent API gets a few minutes. */
function judgeSilence(seen: TeardownSeen, nowMs: number): TeardownJudgement {
  const since = seen.unreachableSince ?? toTimestamp(nowMs)
  const leftMs = Date.parse(since) + UNREACHABLE_LIMIT_MS - nowMs
  if (!seen.isWorkloadAbsent && leftMs > 0) {
    const message = 'The workload API does not answer'
    return {
      ...running(seen, waiting('WorkloadUnreachable', message, Math.min(15, Math.ceil(leftMs / 1000))), message),
      status: statusOf({ ...seen, unreachableSince: since }),
    }
  }
  const instances = seen.instances ?? []
  const swept = judgeSweep({ ...seen, unreachableSince: since }, SWEEP_LIMIT_MS + leftMs, 'found by tag')
  if (swept) return swept
  const note = instances.length > 0 ? `; instances left: ${instances.join(', ')}` : ''
  const message = `The workload API is gone${note}`
  return next(seen, { state: 'Skipped', message, leftovers: sweptLeftovers(seen), all: true }, nowMs)
}

/** Lists again or terminates, as long as there is time left for it; undefined when that is over or not needed. */
function judgeSweep(seen: TeardownSeen, leftMs: number, which: string): TeardownJudgement | undefined {
  const { instances = [], sweepFault } = seen
  if (leftMs <= 0) return undefined
  if (sweepFault !== undefined) {
    const message = `Instances cannot be looked for: ${sweepFault}`
    return running(seen, waiting('InstancesUnknown', message, Math.min(15, Math.ceil(leftMs / 1000))), message)
  }
  if (instances.length === 0 || !seen.mayTerminate) return undefined
  const message = `Terminating ${instances.length} instances ${which}`
  return running(seen, act<TeardownAction>({ do: 'terminate', instances }), message)
}

function sweptLeftovers({ instances = [], volumes, sweepFault }: TeardownSeen): readonly string[] {
  const unknown = sweepFault === undefined ? [] : [`instances that could not be looked for (${sweepFault})`]
  return [...instances.map((id) => `instance ${id}`), ...volumes.map((id) => `volume ${id}`), ...unknown]
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
    return running(seen, act<TeardownAction>({ do: 'delete', things: undeleted, where, ...foreground }), message)
  }
  if (seen.cause === 'wish' && waitedMs >= timeoutMs) return stuck(seen, sight, message)
  const isDead = sight.isControllerAlive === false && waitedMs >= DEAD_CONTROLLER_MS
  if (isDead && seen.cause === 'cluster') return judgeDead(seen, sight, message, startedMs, nowMs)
  if (waitedMs >= timeoutMs) {
    const text = `${message} after ${Math.round(timeoutMs / 1000)}s`
    return next(seen, { state: 'GaveUp', message: text, leftovers: left.map(describeThing) }, nowMs)
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

/** Nobody will ever finish these deletions: machines are found by tag, then the finalizers are taken off. */
function judgeDead(
  seen: TeardownSeen,
  sight: StepSight,
  message: string,
  startedMs: number,
  nowMs: number,
): TeardownJudgement {
  const { step, left } = sight
  const finalizers = step.type === 'release' || step.type === 'objects' ? FLUX_FINALIZERS : KARPENTER_FINALIZERS
  const held = left.filter((thing) => thing.finalizers.some((name) => finalizers.includes(name)))
  const instances = step.type === 'node-claims' ? seen.instances : []
  if (instances === undefined)
    return running(seen, waiting('TearingDown', `${message}; looking for instances by tag`, 5), message)
  const leftMs = startedMs + DEAD_CONTROLLER_MS + SWEEP_LIMIT_MS - nowMs
  const swept = judgeSweep({ ...seen, instances }, leftMs, 'that a dead controller left')
  if (swept) return swept
  const leftovers = [...seen.leftovers, ...sweptLeftovers({ ...seen, instances })]
  const noted = { ...seen, leftovers: [...new Set(leftovers)] }
  if (held.length > 0) {
    const text = `${message}; the controller is not running, finalizers are taken off`
    return running(noted, act<TeardownAction>({ do: 'strip-finalizers', things: held, finalizers }), text)
  }
  return next(
    noted,
    { state: 'GaveUp', message: `${message}; the controller is not running`, leftovers: left.map(describeThing) },
    nowMs,
  )
}

interface Ending {
  readonly state: TeardownStep['state']
  readonly message: string
  readonly leftovers?: readonly string[]
  /** Every step that is left ends the same way. */
  readonly all?: boolean
}

function next(seen: TeardownSeen, ending: Ending, nowMs: number): TeardownJudgement {
  const current = seen.current!
  const at = toTimestamp(nowMs)
  const name = ending.all ? 'workload' : current.step.name
  const step: TeardownStep = {
    name,
    state: ending.state,
    message: ending.message,
    startedAt: current.startedAt,
    endedAt: at,
  }
  const ended = [...seen.ended.filter((one) => one.name !== name), step]
  const leftovers = [...new Set([...seen.leftovers, ...(ending.leftovers ?? [])])]
  const after = { ...seen, ended, leftovers }
  if (ending.all) return over(after, ended, describeEnd(after))
  const status = statusOf({ ...after, current: undefined })
  return {
    decision: waiting('TearingDown', `${current.step.name}: ${ending.message}`, 0.1),
    status,
    isOver: false,
    summary: ending.message,
  }
}

function running(seen: TeardownSeen, decision: Decision<TeardownAction>, summary: string): TeardownJudgement {
  return { decision, status: statusOf(seen, summary), isOver: false, summary }
}

function over(seen: TeardownSeen, ended: readonly TeardownStep[], summary: string): TeardownJudgement {
  return { decision: done, status: statusOf({ ...seen, ended, current: undefined }), isOver: true, summary }
}

function statusOf(seen: TeardownSeen, message?: string): TeardownStatus {
  const { current } = seen
  const now: TeardownStep[] = current
    ? [{ name: current.step.name, state: 'Running', startedAt: current.startedAt, ...(message ? { message } : {}) }]
    : []
  return {
    startedAt: seen.startedAt,
    ...(seen.unreachableSince ? { unreachableSince: seen.unreachableSince } : {}),
    steps: [...seen.ended.filter((one) => one.name !== current?.step.name), ...now],
    ...(seen.leftovers.length > 0 ? { leftovers: seen.leftovers } : {}),
  }
}

function describeEnd({ ended, leftovers }: TeardownSeen): string {
  const gaveUp = ended.filter((step) => step.state === 'GaveUp' || step.name === 'workload')
  if (leftovers.length > 0) return `Given up with a record: ${leftovers.join(', ')}`
  return gaveUp.length > 0 ? `Given up: ${gaveUp.map((step) => step.name).join(', ')}` : 'Everything was removed'
}

function describeThings(things: readonly Thing[]): string {
  const kinds = [...new Set(things.map((thing) => thing.kind.kind))]
  const isOneKind = kinds.length === 1
  const names = things.map(({ kind, key }) => (isOneKind ? key.name : `${kind.kind} ${key.name}`)).sort()
  const shown = names.length > 3 ? [...names.slice(0, 3), '…'] : names
  return `${things.length} ${isOneKind ? kinds[0] : 'objects'} (${shown.join(', ')})`
}

const describeThing = (thing: Thing): string =>
  `${thing.kind.kind} ${thing.key.namespace ? `${thing.key.namespace}/` : ''}${thing.key.name}`
